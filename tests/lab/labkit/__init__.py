# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab: builds kernels and runs commands in guests that they make. tests/lab/lab is the door."""
