# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of tests/bench/kernel, and what they have in common (frame.py)."""
