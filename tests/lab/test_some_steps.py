# SPDX-License-Identifier: GPL-2.0-or-later
"""Each 13th step of what test_every_step.py does with all of them, which takes minutes."""
import os

os.environ.setdefault("SWD_EVERY", "13")

from test_every_step import *       # noqa: E402,F401,F403

LAB = {"variants": ["6.1-swd"], "mem": "512M", "timeout": 300, "faults": True}
