# SPDX-License-Identifier: GPL-2.0-or-later
"""How restless the machine is, by work of our own that is always the same: for tests of what takes nanoseconds."""
import os
import statistics
import time


def jitter(rounds=200):
    """Half the distance of the quartiles of some system calls' time, as a part of the median."""
    took = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(5):
            os.getppid()
        took.append(time.perf_counter() - start)
    low, middle, high = statistics.quantiles(took, n=4)
    return (high - low) / 2 / middle
