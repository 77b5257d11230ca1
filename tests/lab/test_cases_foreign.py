# SPDX-License-Identifier: GPL-2.0-or-later
"""What others put where ours is replaced or goes: the kernel empties a block whose last binding goes, and takes
along what rests on a device, and tells nobody why. So what would take others' things along is not done."""
import os

import pytest

from caselab import dsts, end, refusal, rule, start, text
from swsimlab import four_ports, run, tc

LAB = {"variants": ["6.1-swd"], "all_variants": ["6.1", "6.12"], "mem": "512M", "timeout": 240}

hardware = pytest.fixture(scope="module", autouse=True)(four_ports)

DROP = rule("drop", "dst: 192.0.2.0/24")
LEG = "vlans:\n  leg: { link: lan1, id: 100, addresses: [198.51.100.1/24] }\n"
OTHERS = "filter add {} protocol ip pref 60000 flower skip_hw dst_ip 10.1.1.1 action drop"


def there(device):
    return os.path.exists(f"/sys/class/net/{device}")


def warnings(answer):
    return [d["message"] for d in answer["diags"]]


@pytest.fixture(name="swd")
def fixture_swd(tmp_path):
    swd = start(tmp_path, text(DROP, bind="lan1", more=LEG))
    yield swd
    end(swd, "leg", "mv0", "leg.5")


def test_a_block_s_new_number_leaves_no_foreign_filter_behind(swd):
    tc(OTHERS.format("block 10"))
    said = refusal(swd, text(DROP, bind="lan1", block=11, more=LEG))
    assert "clsact on lan1 (ingress block 11)" in said and "holds a foreign filter: block 10" in said, said
    assert set(dsts()) == {"192.0.2.0/24", "10.1.1.1"} and not dsts(11)
    assert warnings(swd.apply(text(DROP, bind="lan2", more=LEG))) == []
    assert set(dsts()) == {"192.0.2.0/24", "10.1.1.1"}, "the block moved with all it holds"
    swd.apply(text(DROP, bind="lan2", block=11, extra="takeover: true", more=LEG))
    assert not dsts() and set(dsts(11)) == {"192.0.2.0/24"}


@pytest.mark.parametrize("put, take, words", [
    (lambda: tc("qdisc add dev leg clsact", OTHERS.format("dev leg ingress")), lambda: tc("qdisc del dev leg clsact"),
     "a foreign qdisc: clsact on leg"),
    (lambda: run("ip", "link", "add", "link", "leg", "name", "mv0", "type", "macvlan"),
     lambda: run("ip", "link", "del", "mv0"), "a foreign device: port mv0"),
    (lambda: run("ip", "link", "add", "link", "leg", "name", "leg.5", "type", "vlan", "id", "5"),
     lambda: run("ip", "link", "del", "leg.5"), "a foreign device: vlan leg.5"),
    (lambda: run("ip", "addr", "add", "203.0.113.1/24", "dev", "leg"),
     lambda: run("ip", "addr", "del", "203.0.113.1/24", "dev", "leg"), "a foreign address: address 203.0.113.1/24 on leg"),
], ids=["qdisc", "macvlan", "vlan", "address"])
def test_what_others_put_on_a_leg_keeps_it(swd, put, take, words):
    put()
    for file in (LEG.replace("100,", "101,"), LEG.replace("leg:", "new:"), LEG.replace("lan1", "late0")):
        said = refusal(swd, text(DROP, bind="lan1", more=file))
        assert f"leg would have to go first, and holds {words}" in said, said
    said = warnings(swd.apply(text(DROP, bind="lan1")))
    assert said == [f"swd.yaml: warning: vlan leg: stays, since it holds {words}"], said
    assert there("leg")
    take()
    swd.apply(text(DROP, bind="lan1") + "# and again\n")
    assert not there("leg")


def test_a_leg_goes_with_what_others_have_for_a_time(swd):
    run("ip", "addr", "add", "203.0.113.1/24", "dev", "leg", "valid_lft", "1000", "preferred_lft", "1000")
    assert warnings(swd.apply(text(DROP, bind="lan1"))) == []
    assert not there("leg")
