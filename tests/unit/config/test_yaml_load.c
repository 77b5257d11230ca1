// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From text to objects: what a file's words become, where each object says it came from, and that
 * all examples load without a word.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/unit/check.h"

#include "config/base/log.h"
#include "config/yaml/load.h"

static const char *source_root;

static struct config *load(const char *text)
{
	struct diags *d = diags_new("t.yaml");
	struct config *c = NULL;

	assert_int_equal(config_load(text, strlen(text), d, &c), 0);
	assert_non_null(c);
	assert_int_equal(diags_count(d), 0);
	diags_free(d);
	return c;
}

static const char sketch[] =
	"version: 1\n"
	"ports:\n"
	"  lan1: { up: true, mtu: 1500, addresses: [192.0.2.9/24] }\n"
	"  lan2: { up: false }\n"
	"  enp1s0f0: { tc-offload: true }\n"
	"vlans:\n"
	"  core.100: { link: enp1s0f0, id: 100, addresses: [192.0.2.1/31, '2001:db8::1/127'] }\n"
	"  q: { link: enp1s0f0, id: 4094, protocol: 802.1ad, up: false, mtu: 1400 }\n"
	"blocks:\n"
	"  edge:\n"
	"    id: 10\n"
	"    bind: [lan1, lan2]\n"
	"    rules:\n"
	"      - { name: no-bogons, match: { src: 192.0.2.0/24, tagging: any }, action: drop }\n"
	"      - { name: bgp, match: { proto: tcp, dport: 179, tagging: none }, action: trap }\n"
	"      - name: a-to-uplink\n"
	"        match: { vlan: 10, dst: 198.51.100.0/24 }\n"
	"        action: [ { vlan-modify: 20 }, dec-ttl, { redirect: lan2 } ]\n"
	"        pref: 700\n"
	"        offload: preferred\n"
	"  out: { id: 11, bind-egress: [lan2], takeover: true, tagging: none, rules: [] }\n";

static void test_ports(void **state)
{
	struct config *c = load(sketch);
	const struct port *lan1 = state_port(c->wanted, "lan1");
	const struct port *lan2 = state_port(c->wanted, "lan2");
	const struct port *nic = state_port(c->wanted, "enp1s0f0");
	const struct vlan *core = state_vlan(c->wanted, "core.100");
	const struct vlan *q = state_vlan(c->wanted, "q");
	const struct address *a;

	assert_string_equal(c->file, "t.yaml");
	assert_int_equal(lan1->has, PORT_HAS_UP | PORT_HAS_MTU);
	assert_int_equal(lan1->up, 1);
	assert_int_equal(lan1->mtu, 1500);
	assert_int_equal(lan1->obj.origin.line, 3);
	assert_int_equal(lan1->obj.origin.column, 3);
	assert_int_equal(lan2->has, PORT_HAS_UP);
	assert_int_equal(lan2->up, 0);
	assert_int_equal(nic->has, PORT_HAS_TC_OFFLOAD);
	assert_int_equal(nic->tc_offload, 1);
	assert_string_equal(core->link, "enp1s0f0");
	assert_int_equal(core->id, 100);
	assert_int_equal(core->protocol, 0x8100);
	assert_int_equal(core->has, PORT_HAS_UP); /* swd makes it, so it comes up */
	assert_int_equal(core->up, 1);
	assert_int_equal(q->protocol, 0x88a8);
	assert_int_equal(q->has, PORT_HAS_UP | PORT_HAS_MTU);
	assert_int_equal(q->up, 0);
	assert_int_equal(state_count(c->wanted, KIND_ADDRESS), 3);
	a = state_at(c->wanted, KIND_ADDRESS, 0);
	assert_string_equal(a->dev, "core.100");
	assert_int_equal(a->family, 4);
	assert_int_equal(a->prefix_len, 31);
	assert_memory_equal(a->addr, "\xc0\x00\x02\x01", 4);
	assert_int_equal(a->obj.origin.line, 7);
	assert_int_equal(a->obj.origin.column, 52);
	config_unref(c);
}

static const struct qdisc *find_qdisc(const struct config *c, const char *dev)
{
	struct qdisc key = { .obj.kind = KIND_QDISC };

	COPY_NAME(key.dev, dev);
	return state_find(c->wanted, &key);
}

static void test_blocks(void **state)
{
	struct config *c = load(sketch);
	const struct block *edge = state_block(c->wanted, 10), *out = state_block(c->wanted, 11);
	const struct qdisc *lan1 = find_qdisc(c, "lan1"), *lan2 = find_qdisc(c, "lan2");

	assert_string_equal(edge->name, "edge");
	assert_ptr_equal(state_block_named(c->wanted, "out"), out);
	assert_int_equal(edge->offload, OFFLOAD_REQUIRED);
	assert_int_equal(edge->foreign, FOREIGN_REPORT);
	assert_int_equal(edge->tagging, TAGGING_ANY);
	assert_int_equal(edge->bypass, BYPASS_WANT_PREFERRED);
	assert_int_equal(out->tagging, TAGGING_NONE);
	assert_int_equal(state_count(c->wanted, KIND_QDISC), 2);
	assert_string_equal(lan1->type, "clsact");
	assert_int_equal(lan1->ingress_block, 10);
	assert_int_equal(lan1->egress_block, 0);
	assert_int_equal(lan1->takeover, 0);
	assert_int_equal(lan2->ingress_block, 10);
	assert_int_equal(lan2->egress_block, 11);
	assert_int_equal(lan2->takeover, 1);
	config_unref(c);
}

static const struct rule *find_rule(const struct config *c, uint32_t position)
{
	for (size_t i = 0; i < state_count(c->wanted, KIND_RULE); i++) {
		const struct rule *r = state_at(c->wanted, KIND_RULE, i);

		if (r->position == position)
			return r;
	}
	fail();
	return NULL;
}

static void test_rules(void **state)
{
	struct config *c = load(sketch);
	const struct rule *bogons = find_rule(c, 0), *bgp = find_rule(c, 1), *up = find_rule(c, 2);
	uint16_t port;

	assert_int_equal(state_count(c->wanted, KIND_RULE), 3);
	assert_int_equal(state_count(c->wanted, KIND_FILTER), 0);
	assert_string_equal(bogons->name, "no-bogons");
	assert_int_equal(bogons->block, 10);
	assert_int_equal(bogons->tagging, TAGGING_ANY);
	assert_int_equal(bogons->offload, OFFLOAD_UNSET);
	assert_int_equal(bogons->obj.origin.line, 14);
	assert_int_equal(bogons->obj.origin.column, 9);
	assert_int_equal(bogons->action_count, 1);
	assert_int_equal(rule_actions(bogons)[0].kind, ACTION_DROP);
	assert_true(match_has(rule_match(bogons), FIELD_IPV4_SRC));
	assert_int_equal(bgp->tagging, TAGGING_NONE);
	assert_true(match_get_u16(rule_match(bgp), FIELD_DPORT, &port));
	assert_int_equal(port, 179);
	assert_string_equal(up->name, "a-to-uplink");
	assert_int_equal(up->tagging, TAGGING_VLAN);
	assert_int_equal(up->pref, 700);
	assert_int_equal(up->offload, OFFLOAD_PREFERRED);
	assert_int_equal(up->action_count, 3);
	assert_int_equal(rule_actions(up)[0].kind, ACTION_VLAN_MODIFY);
	assert_int_equal(rule_actions(up)[0].vlan.id, 20);
	assert_int_equal(rule_actions(up)[0].vlan.ethertype, 0);
	assert_int_equal(rule_actions(up)[1].kind, ACTION_DEC_TTL);
	assert_int_equal(rule_actions(up)[2].kind, ACTION_REDIRECT);
	assert_string_equal(rule_actions(up)[2].dev, "lan2");
	config_unref(c);
}

static void test_daemon(void **state)
{
	struct config *c = load("version: 1\ndaemon: { settle: 10ms, audit: 5m, port-wait: 0ms, "
				"log-level: debug, history: 7, writers: [netadmin, noc] }\n");

	assert_int_equal(c->daemon.settle_ms, 10);
	assert_int_equal(c->daemon.audit_ms, 300000);
	assert_int_equal(c->daemon.port_wait_ms, 0);
	assert_int_equal(c->daemon.log_level, LOG_LEVEL_DEBUG);
	assert_int_equal(c->daemon.history, 7);
	assert_int_equal(c->daemon.writer_count, 2);
	assert_string_equal(c->daemon.writers[1], "noc");
	config_unref(c);
}

/* A MAC of zeros is a MAC, and chain 0, prio 0 and VLAN 0 are said when they are said. */
static void test_presence(void **state)
{
	struct config *c = load(
		"version: 1\nblocks:\n  b:\n    id: 1\n    bind: [p]\n    rules:\n"
		"      - name: a\n"
		"        match: { dst-mac: '00:00:00:00:00:00', vlan: 0, vlan-prio: 0 }\n"
		"        action: [ { set-src: '00:00:00:00:00:00' }, { vlan-push: { id: 1, prio: "
		"0 } } ]\n"
		"      - { name: all, match: {}, action: pass }\n");
	const struct rule *a = find_rule(c, 0), *all = find_rule(c, 1);
	uint16_t vlan = 1;

	assert_true(match_has(rule_match(a), FIELD_DST_MAC));
	assert_true(match_get_u16(rule_match(a), FIELD_VLAN, &vlan));
	assert_int_equal(vlan, 0);
	assert_true(match_has(rule_match(a), FIELD_VLAN_PRIO));
	assert_int_equal(rule_actions(a)[1].vlan.has_prio, 1);
	assert_int_equal(rule_actions(a)[1].vlan.ethertype, 0x8100);
	assert_int_equal(all->match_size, 0);
	assert_int_equal(all->tagging, TAGGING_UNSET);
	config_unref(c);
}

/* Of a refused file nothing is left behind, and earlier errors of the caller do not refuse a good
 * one. */
static void test_refused(void **state)
{
	static const char bad[] = "version: 1\nports: { lan1: { up: yes, mtu: 1 } }\n";
	static const char good[] = "version: 1\n";
	struct config *c = (struct config *)0x1;
	struct diags *d = diags_new("t.yaml");

	assert_int_equal(config_load(bad, strlen(bad), d, &c), -EINVAL);
	assert_int_equal(diags_errors(d), 2);
	assert_ptr_equal(c, (struct config *)0x1);
	assert_int_equal(config_load(good, strlen(good), d, &c), 0);
	config_unref(c);
	diags_free(d);
}

static void load_file(const char *name, size_t rules)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	struct diags *d;
	struct config *c;
	size_t size;

	assert_true(asprintf(&path, "%s/config/%s", source_root, name) > 0);
	assert_int_equal(config_read_file(path, &text, &size), 0);
	d = diags_new(name);
	if (config_load(text, size, d, &c) < 0 || diags_count(d) > 0) {
		diags_print(d, stdout);
		fail_msg("%s has something to complain of", name);
	}
	assert_int_equal(state_count(c->wanted, KIND_RULE), rules);
	config_unref(c);
	diags_free(d);
}

static void test_examples(void **state)
{
	load_file("swd.yaml", 0);
	load_file("examples/stick.yaml", 13);
	load_file("examples/switch.yaml", 7);
	load_file("examples/edge.yaml", 50);
	load_file("examples/demo.yaml", 5);
}

/* The default file with its comment signs taken away is a whole example, and has to be a good one.
 */
static void test_default_file_uncommented(void **state)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	struct diags *d = diags_new("swd.yaml");
	struct config *c;
	size_t size, kept = 0;

	assert_true(asprintf(&path, "%s/config/swd.yaml", source_root) > 0);
	assert_int_equal(config_read_file(path, &text, &size), 0);
	for (size_t i = 0; i < size; i++) {
		bool at_start = i == 0 || text[i - 1] == '\n';

		/* "#ports:" and "#  lan1:" are commented out, "# What" is a comment. */
		if (at_start && text[i] == '#' && i + 2 < size &&
		    (text[i + 1] != ' ' || text[i + 2] == ' ') && text[i + 1] != '\n' &&
		    strncmp(text + i, "#   sw-cli", 10) != 0 &&
		    strncmp(text + i, "#   systemctl", 13) != 0)
			continue;
		text[kept++] = text[i];
	}
	if (config_load(text, kept, d, &c) < 0)
		diags_print(d, stdout);
	assert_int_equal(diags_count(d), 0);
	assert_int_equal(state_count(c->wanted, KIND_RULE), 3);
	assert_int_equal(state_count(c->wanted, KIND_PORT), 2);
	config_unref(c);
	diags_free(d);
}

static void test_read_file(void **state)
{
	char dir[] = "/tmp/swd-load-XXXXXX", path[64];
	char *text = (char *)0x1;
	size_t size = 0;
	FILE *f;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(config_read_file(dir, &text, &size), -EISDIR);
	snprintf(path, sizeof(path), "%s/file", dir);
	assert_int_equal(config_read_file(path, &text, &size), -ENOENT);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(config_read_file(path, &text, &size), -EINVAL); /* and does not wait */
	unlink(path);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(truncate(path, (off_t)CONFIG_TEXT_MAX + 1), 0);
	assert_int_equal(config_read_file(path, &text, &size), -EFBIG);
	assert_ptr_equal(text, (char *)0x1);
	assert_int_equal(truncate(path, 5), 0);
	assert_int_equal(config_read_file(path, &text, &size), 0);
	assert_int_equal(size, 5);
	assert_int_equal(text[5], 0);
	free(text);
	unlink(path);
	rmdir(dir);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ports),	  cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_rules),	  cmocka_unit_test(test_daemon),
		cmocka_unit_test(test_presence),  cmocka_unit_test(test_refused),
		cmocka_unit_test(test_examples),  cmocka_unit_test(test_default_file_uncommented),
		cmocka_unit_test(test_read_file),
	};

	source_root = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
