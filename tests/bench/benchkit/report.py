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


def ratio(numerator, denominator, rounds=2000):
    """The ratio of two medians, and a 95 % interval by bootstrap (fixed seed: same samples, same words)."""
    rng = random.Random(1)

    def resampled(samples):
        return statistics.median(rng.choices(samples, k=len(samples)))

    draws = sorted(resampled(numerator) / resampled(denominator) for _ in range(rounds))
    return (statistics.median(numerator) / statistics.median(denominator),
            draws[rounds // 40], draws[-rounds // 40])


class Report:
    def __init__(self):
        self.machine = machine()
        self.rows = []
        self.checks = []

    def check(self, name, wanted, got, ok):
        self.checks.append({"name": name, "wanted": wanted, "got": got, "ok": bool(ok)})

    def check_at_least(self, name, numerator, denominator, least):
        """Wanted: the ratio is at least `least`, beyond the noise: the interval must not end below it.

        An interval wider than a tenth of the ratio proves nothing and is no success.
        """
        value, low, high = ratio(numerator, denominator)
        noisy = high - low > value / 10
        self.check(name, f">= {least:.3f}", f"{value:.3f} (95 %: {low:.3f} to {high:.3f})"
                   + (", too noisy to tell" if noisy else ""), high >= least and not noisy)

    def print_checks(self):
        for c in self.checks:
            print(f"{'ok  ' if c['ok'] else 'MISS'} {c['name']}: wanted {c['wanted']}, got {c['got']}")

    def write(self, path):
        text = {"machine": self.machine, "rows": self.rows, "checks": self.checks}
        Path(path).write_text(json.dumps(text, indent=1) + "\n")

    @property
    def good(self):
        return all(c["ok"] for c in self.checks)
