# SPDX-License-Identifier: GPL-2.0-or-later
"""Where things are, and the one exception the lab ends with."""
import os
from pathlib import Path

LAB = Path(__file__).resolve().parent.parent
REPO = LAB.parent.parent
FRAGMENTS = LAB / "kernel"
GUEST = LAB / "guest"
SWSIM = REPO / "kmod" / "swsim"
UAPI = REPO / "kmod" / "uapi"
PATCHES = REPO / "kmod" / "patches"


class LabError(Exception):
    """Something that the user must know and can act on; printed without a traceback."""


def cache() -> Path:
    """The cache's directory, outside the repo; made when first asked for."""
    said = os.environ.get("SWD_LAB_CACHE")
    if said:
        path = Path(said)
    else:
        path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "swd-lab"
    path.mkdir(parents=True, exist_ok=True)
    return path.resolve()
