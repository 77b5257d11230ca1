# SPDX-License-Identifier: GPL-2.0-or-later
"""A file and then another end as the other from scratch, on a real kernel: VLANs that change names, tags and links,
blocks that change devices, rules that come, go, change and move. What tests/unit/engine/test_files.c shows of many
files on a kernel of paper is shown here of some, as iproute2 tells it; and the same file again sends nothing.

SWD_FILES_SEED=N chooses the files, SWD_FILES=N how many."""
import json
import os
import random
import subprocess

from swdlab import Swd

LAB = {"variants": ["6.1-swd"], "all_variants": ["6.1", "6.12"], "mem": "256M", "timeout": 1200}

SEED = int(os.environ.get("SWD_FILES_SEED", "1"))
COUNT = int(os.environ.get("SWD_FILES", "40"))
PORTS, VLANS = ("d0", "d1", "d2"), ("v0", "v1", "v2", "v3")


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def random_rule(r, number):
    match = {r.choice(("src", "dst")): f"10.{r.randrange(3)}.0.0/{r.choice((15, 16, 24))}".replace("1.0.0/15", "2.0.0/15")}
    if r.random() < 0.4:
        match |= {"proto": r.choice(("tcp", "udp")), "dport": r.choice((80, "100-200", 443))}
    if r.random() < 0.2:
        match["vlan"] = r.randrange(5, 8)
    return {"name": f"r{number}", "match": match, "action": r.choice(("drop", "pass"))}


def random_file(r, before):
    vlans = {}
    for name in VLANS:
        link = r.choice(("d0", "d1") + tuple(vlans)[:1])
        same = [v for v in vlans.values() if v["link"] == link]
        tag = r.choice([n for n in (7, 8, 9, 10) if n not in [v["id"] for v in same]])
        if r.random() < 0.7:
            vlans[name] = {"link": link, "id": tag, "addresses": [f"192.0.{VLANS.index(name)}.{r.randrange(1, 4)}/24"]}
    free = list(PORTS + tuple(vlans))
    r.shuffle(free)
    rules = [dict(rule) for rule in before or [] if r.random() < 0.8]
    for rule in rules:
        if r.random() < 0.2:
            rule["action"] = "pass" if rule["action"] == "drop" else "drop"
    for _ in range(r.randrange(6)):
        rules.insert(r.randrange(len(rules) + 1), random_rule(r, r.randrange(1 << 20)))
    seen, kept = set(), []
    for rule in rules:
        match = json.dumps(rule["match"], sort_keys=True)
        if match not in seen:
            kept.append(rule)
        seen.add(match)
    blocks = {name: {"id": block, "bind": [free.pop() for _ in range(r.randrange(1, 3))], "offload": "off",
                     "tagging": r.choice(("none", "any")), "rules": kept if name == "edge" else kept[:2]}
              for name, block in (("edge", r.choice((10, 11))), ("other", 12)) if r.random() < 0.8}
    return {"version": 1, "ports": {p: {"up": True} for p in PORTS}, "vlans": vlans or {}, "blocks": blocks or {}}, kept


def meaning(f):
    options = {k: v for k, v in f["options"].items() if k not in ("handle", "actions")}
    actions = [{k: v for k, v in a.items() if k not in ("index", "ref", "bind", "cookie")}
               for a in f["options"].get("actions", [])]
    return json.dumps([f["kind"], f.get("chain", 0), f["protocol"], options, actions], sort_keys=True)


def seen():
    links = {}
    for link in json.loads(run("ip", "-j", "-d", "addr")):
        if link["ifname"] in PORTS + VLANS:
            info = link.get("linkinfo", {}).get("info_data", {})
            links[link["ifname"]] = (link.get("link"), info.get("id"), info.get("protocol"), "UP" in link["flags"],
                                     sorted(a["local"] for a in link["addr_info"] if a["family"] == "inet"))
    qdiscs = {q["dev"]: q.get("ingress_block") for q in json.loads(run("tc", "-j", "qdisc")) if q["kind"] == "clsact"}
    filters = {block: sorted(meaning(f) for f in json.loads(run("tc", "-j", "filter", "show", "block", str(block)) or "[]")
                             if "not_in_hw" in f.get("options", {}) or "in_hw" in f.get("options", {}))
               for block in set(qdiscs.values())}
    return links, qdiscs, filters


def from_scratch(folder, text):
    """What a kernel and an swd that never had another file come to."""
    for vlan in VLANS:
        run("ip", "link", "del", vlan)
    for port in PORTS:
        run("tc", "qdisc", "del", "dev", port, "clsact")
    swd = Swd(folder, text)
    swd.settle(20)
    ret = seen()
    assert swd.stop() == 0
    return ret


def test_random_files(tmp_path):
    r, files, before = random.Random(SEED), [], None
    for port in PORTS:
        run("ip", "link", "add", port, "type", "dummy")
        run("ip", "link", "set", port, "up")
    for _ in range(COUNT):
        file, before = random_file(r, before)
        files.append(json.dumps(file, indent=1))
    scratch = [from_scratch(tmp_path / f"scratch{n}", text) for n, text in enumerate(files)]
    for vlan in VLANS:
        run("ip", "link", "del", vlan)
    for port in PORTS:
        run("tc", "qdisc", "del", "dev", port, "clsact")
    swd, filters = Swd(tmp_path / "one", "version: 1\n"), 0
    for n, text in enumerate(files):
        what = f"SWD_FILES_SEED={SEED}, file {n}:\n{text}\nbehind\n{files[n - 1] if n else '-'}"
        answer = swd.apply(text)
        assert answer.get("outcome", "done") == "done", f"{what}\n{answer}"
        swd.settle(10)
        for now, wanted in zip(seen(), scratch[n]):
            assert now == wanted, what
        messages = swd.status()["counts"]["messages"]
        swd.apply(text + "\n# the same\n")
        assert swd.status()["counts"]["messages"] == messages, what
        filters += sum(len(f) for f in scratch[n][2].values())
    print(f"{COUNT} files, {filters} filters")
    assert filters > COUNT * 3
    assert swd.stop() == 0
