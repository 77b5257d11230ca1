# SPDX-License-Identifier: GPL-2.0-or-later
"""What every benchmark reports with: the machine, medians with their spread, paired ratios, checks.

The JSON file of a benchmark is {"machine", "rows": [...], "checks": [{"name", "wanted", "got", "ok"}]};
rows keep the raw samples.
"""
import json
import platform
import random
import statistics
import subprocess
from pathlib import Path


def machine():
    """This machine, as far as it explains figures."""
    info = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        info.setdefault(name.strip(), value.strip())
    compiler = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=False)
    return {"cpu": info.get("model name", "unknown"),
            "family": info.get("cpu family"), "model": info.get("model"),
            "cores": len([line for line in Path("/proc/cpuinfo").read_text().splitlines()
                          if line.startswith("processor")]),
            "kernel": platform.release(),
            "compiler": compiler.stdout.splitlines()[0] if compiler.stdout else "unknown"}


def machine_line(m):
    return (f"{m['cpu']} (family {m['family']} model {m['model']}), {m['cores']} cores, "
            f"host kernel {m['kernel']}, {m['compiler']}")


def spread(samples):
    """Half the distance between the quartiles, in percent of the median: the noise of one sample."""
    if len(samples) < 4:
        low, high = min(samples), max(samples)
    else:
        low, _, high = statistics.quantiles(samples, n=4)
    return 50 * (high - low) / statistics.median(samples)


def interval(estimate, rounds=2000):
    """95 % of what estimate(rng) gives. Fixed seed: the same samples give the same words."""
    rng = random.Random(1)
    draws = sorted(estimate(rng) for _ in range(rounds))
    return draws[rounds // 40], draws[-rounds // 40]


def ratio_of_medians(above, below):
    """(value, low, high) of median(above) / median(below), by bootstrap."""
    def resampled(samples, rng):
        return statistics.median(rng.choices(samples, k=len(samples)))

    return (statistics.median(above) / statistics.median(below),
            *interval(lambda rng: resampled(above, rng) / resampled(below, rng)))


def median_of_ratios(above, below):
    """(value, low, high) of the median of above[i] / below[i]: for runs that were made side by side."""
    ratios = [a / b for a, b in zip(above, below, strict=True)]
    return (statistics.median(ratios),
            *interval(lambda rng: statistics.median(rng.choices(ratios, k=len(ratios)))))


class Report:
    def __init__(self):
        self.machine = machine()
        self.rows = []
        self.checks = []

    def check(self, name, wanted, got, ok):
        self.checks.append({"name": name, "wanted": wanted, "got": got, "ok": bool(ok)})

    def _check_least(self, name, wanted, found, least, widest):
        """Good where the interval lies above `least`, or reaches it and is no wider than `widest`: a
        wider one shows nothing."""
        value, low, high = found
        noisy = low < least and high - low > widest
        self.check(name, wanted, f"{value:.4f} (95 %: {low:.4f} to {high:.4f})"
                   + (", too noisy to tell" if noisy else ""), high >= least and not noisy)

    def check_medians(self, name, above, below, least):
        """Wanted: the ratio of the medians is at least `least`, beyond the noise."""
        self._check_least(name, f">= {least:.3f}", ratio_of_medians(above, below), least, least / 10)

    def check_pairs(self, name, above, below, least):
        """The same of runs that were made side by side."""
        self._check_least(name, f">= {least:.3f}", median_of_ratios(above, below), least, 0.02)

    def print_checks(self):
        for c in self.checks:
            print(f"{'ok  ' if c['ok'] else 'MISS'} {c['name']}: wanted {c['wanted']}, got {c['got']}")

    def write(self, path):
        text = {"machine": self.machine, "rows": self.rows, "checks": self.checks}
        Path(path).write_text(json.dumps(text, indent=1) + "\n")

    @property
    def good(self):
        return all(c["ok"] for c in self.checks)
