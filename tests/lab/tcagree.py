# SPDX-License-Identifier: GPL-2.0-or-later
"""Does what swd says of a filter agree with what iproute2 says of it? Field by field."""
import ipaddress

FLAGS = ("skip_sw", "skip_hw", "in_hw", "not_in_hw")
SAME = {"src-mac": "src_mac", "dst-mac": "dst_mac", "vlan": "vlan_id", "proto": "ip_proto",
        "src": "src_ip", "dst": "dst_ip", "sport": "src_port", "dport": "dst_port",
        "vlan-prio": "vlan_prio", "cvlan": "cvlan_id", "ttl": "ip_ttl", "tos": "ip_tos",
        "vlan-ethtype": "vlan_ethtype", "cvlan-ethtype": "cvlan_ethtype"}
# tc shows what follows from the protocol as keys of their own.
IMPLIED = {"eth_type", "num_of_vlans"}


def plain(name, value):
    """A value as both would write it."""
    text = str(value)
    if name in ("src", "dst"):
        return str(ipaddress.ip_network(text, strict=False))
    return {"ip": "ipv4"}.get(text, text).lower()


def match_of(shown):
    keys = shown["options"].get("keys", {})
    back = {theirs: ours for ours, theirs in SAME.items()}
    unknown = set(keys) - set(back) - IMPLIED
    assert not unknown, f"tc shows keys this test has no word for: {unknown}"
    return {back[key]: plain(back[key], value) for key, value in keys.items() if key in back}


def actions_of(shown):
    """tc's actions in swd's words."""
    words = []
    for a in shown["options"].get("actions", []):
        kind = a["kind"]
        if kind == "gact":
            words.append({"pass": "pass"}.get(a["control_action"]["type"], a["control_action"]["type"]))
        elif kind == "mirred":
            words.append(f"{a['mirred_action']} {a['to_dev']}")
        elif kind == "vlan":
            words.append(f"vlan-{a['vlan_action']} {a['id']}")
        elif kind == "pedit":
            words.append("pedit")
        elif kind == "csum":
            words.append("csum")
        else:
            words.append(kind)
    return words


def said_actions(actions):
    words = []
    for a in actions:
        name = a["name"]
        if name in ("redirect", "mirror"):
            words.append(f"{name} {a['dev']}")
        elif name == "vlan-modify":
            words.append(f"{name} {a['vlan']}")
        elif name in ("set-dst", "set-src", "dec-ttl"):
            words.append("pedit")
        else:
            words.append(name)
    return words


def compare(said, shown):
    """said: a Filter of swd's interface; shown: tc's filters by (chain, pref, protocol, handle)."""
    key = (said["chain"], said["pref"], said["protocol"].replace("802.1q", "802.1Q"), said["handle"])
    assert key in shown, f"tc does not show {key}, but {sorted(shown)}"
    theirs = shown[key]
    options = theirs["options"]
    assert said["type"] == theirs["kind"]
    for flag in FLAGS:
        assert said[flag] == bool(options.get(flag)), (key, flag)
    if said["type"] == "flower":        # the kernel tells no count for matchall
        assert said["in_hw_count"] == options.get("in_hw_count", 0), key
    assert {k: plain(k, v) for k, v in said["match"].items()} == match_of(theirs), key
    assert said_actions(said["actions"]) == actions_of(theirs), key
    stats = options["actions"][0]["stats"]
    assert said["packets"] == stats["packets"] and said["bytes"] == stats["bytes"], key
    assert said["hw_packets"] == stats.get("hw_packets", 0), key
