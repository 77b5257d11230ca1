# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel of this guest has, by the name of its variant: for tests that run under several, and under parts
of our patches, too."""
import os

from labkit import kernel, series, variants

_variant = variants.find(os.environ["LAB"])
_ours = {series.part(path) for path in kernel.patches(_variant)}

SLOW = _variant.slow        # times longer than on others the same work takes
# Linux 6.1 has no bypass of its own; 6.12 has one that is derived from a history: marks of it stay.
BORN_WITH_BYPASS = _variant.kernel != "6.1"
EXACT = ("bypass-4" if BORN_WITH_BYPASS else "bypass-5") in _ours     # what needs software is what is there
TELLS = ("bypass-5" if BORN_WITH_BYPASS else "bypass-6") in _ours     # and who asks is told
SHORTCUT = not BORN_WITH_BYPASS and not EXACT       # swd's filter in front is the next best there
MARKS_STAY = BORN_WITH_BYPASS and not EXACT
EVIDENCE = ("read back" if TELLS else "seen from its filters" if SHORTCUT else "derived from its history")
DOORBELL_FRAMES = "doorbell-3" in _ours             # each device has a number of frames to a doorbell
