// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The device that the tests of the service look at: see sample_snapshot() in fake.h.
 */
#include "tests/unit/check.h"

#include <stdio.h>

#include "config/model/tx.h"
#include "tests/unit/service/fake.h"

static void put(struct state *s, void *object)
{
	assert_non_null(object);
	assert_int_equal(state_add(s, object, NULL), 0);
}

static struct port *port(const char *name, bool found)
{
	struct port *p = object_new(KIND_PORT, sizeof(*p));

	assert_non_null(p);
	COPY_NAME(p->name, name);
	p->has = PORT_HAS_UP | PORT_HAS_MTU;
	p->up = 1;
	p->mtu = 1500;
	p->facts = (struct link_facts){ .switch_index = -1, .port_number = -1, .offload = -1 };
	if (found)
		p->facts.carrier = 1;
	return p;
}

static struct port *switch_port(const char *name, int number)
{
	struct port *p = port(name, true);

	strcpy(p->facts.type, "dsa");
	strcpy(p->facts.driver, "swsim");
	strcpy(p->facts.lower, "eth0");
	strcpy(p->facts.switch_id, "73776400");
	snprintf(p->facts.port_name, sizeof(p->facts.port_name), "p%d", number);
	p->facts.switch_index = 0;
	p->facts.port_number = number;
	p->facts.offload = 1;
	return p;
}

static void put_ports(struct config *c, struct state *found)
{
	struct port *eth0 = port("eth0", true), *lan2 = switch_port("lan2", 2);
	struct vlan *leg = object_new(KIND_VLAN, sizeof(*leg));

	assert_non_null(leg);
	put(c->wanted, port("lan1", false));
	put(c->wanted, port("lan2", false));
	put(c->wanted, port("lan9", false));
	put(found, switch_port("lan1", 1));
	lan2->mtu = 1400;
	put(found, lan2);
	strcpy(eth0->facts.tagger, "rtl8_4");
	put(found, eth0);
	strcpy(leg->name, "eth0.10");
	strcpy(leg->link, "eth0");
	leg->id = 10;
	leg->protocol = 0x8100;
	leg->facts = (struct link_facts){ .switch_index = -1, .port_number = -1, .offload = -1 };
	put(c->wanted, object_ref(leg));
	put(found, leg);
}

static struct tx *tx(const char *dev, enum tx_part part, uint8_t has, uint32_t value, uint32_t most)
{
	struct tx *t = tx_new(dev, part, part == TX_BQL && most ? 2 : 0);

	assert_non_null(t);
	t->has = has;
	t->most = most;
	for (unsigned int i = 0; i < TX_VALUES; i++)
		t->value[i] = value;
	for (uint32_t q = 0; q < t->queues; q++)
		for (unsigned int i = 0; i < TX_VALUES; i++)
			t->queue[q][i] = value + q;
	return t;
}

/* lan2 is as wanted but for what is not measured yet; lan9 is not there. */
static void put_tx(struct config *c, struct state *found)
{
	struct tx *flush = tx("lan2", TX_FLUSH, 0, 0, 0);

	flush->automatic = 1;
	put(c->wanted, flush);
	put(c->wanted, tx("lan2", TX_RING, 1, 512, 0));
	put(c->wanted, tx("lan9", TX_RING, 1, 512, 0));
	put(found, tx("lan2", TX_FLUSH, 1, 1, 0));
	put(found, tx("lan2", TX_RING, 1, 256, 4096));
	put(found, tx("lan2", TX_COALESCE, 5, 1, 0));
	put(found, tx("lan2", TX_BQL, 3, 9000, 1));
}

static void put_qdisc(struct state *s, const char *dev)
{
	struct qdisc *q = object_new(KIND_QDISC, sizeof(*q));

	assert_non_null(q);
	COPY_NAME(q->dev, dev);
	strcpy(q->type, "clsact");
	q->ingress_block = 10;
	put(s, q);
}

static struct match match_of(const char *field, const char *text)
{
	struct match m = { 0 };

	if (field)
		assert_int_equal(field_parse(field, text, &m, NULL), 0);
	return m;
}

/* A rule, its filter, and, if found, what the kernel holds for it. */
static void put_rule(struct snapshot *s, size_t position, const char *name, const char *dst,
		     bool found)
{
	struct match m = match_of("dst", dst);
	struct action drop = { .kind = ACTION_DROP };
	struct rule *r = rule_new(match_view(&m), &drop, 1);
	struct filter *f = filter_new(match_view(&m), &drop, 1), *k;

	assert_non_null(r);
	assert_non_null(f);
	r->block = 10;
	r->position = (uint32_t)position;
	r->ethertype = streq(name, "no-tests") ? 0x0800 : 0;
	COPY_NAME(r->name, name);
	r->obj.origin.line = 20 + (uint32_t)position;
	f->block = 10;
	f->pref = (uint16_t)(10 + position);
	f->protocol = 0x0800;
	f->handle = 1;
	f->owner = OWNER_OURS;
	f->has_cookie = 1;
	f->cookie[0] = 's';
	f->flags = TCA_CLS_FLAGS_SKIP_SW;
	k = filter_copy(f);
	assert_non_null(k);
	f->rule = object_ref(r);
	put(s->config->wanted, r);
	put(s->filters, f);
	if (!found) {
		object_unref(k);
		return;
	}
	k->flags |= TCA_CLS_FLAGS_IN_HW;
	k->in_hw_count = streq(name, "no-tests") ? 1 : 2;
	/* Beyond what a double can hold. */
	k->stats = (struct filter_stats){ 9007199254740993ULL, 18014398509481987ULL,
					  9007199254740993ULL, 18014398509481987ULL, 1500 };
	put(s->found, k);
}

static void put_foreign(struct state *found)
{
	struct action pass = { .kind = ACTION_PASS };
	struct match m = { 0 };
	struct filter *f = filter_new(match_view(&m), &pass, 1);

	assert_non_null(f);
	f->block = 10;
	f->pref = 1;
	f->protocol = ETHERTYPE_ALL;
	f->handle = 1;
	f->type = FILTER_MATCHALL;
	f->owner = OWNER_FOREIGN;
	f->flags = TCA_CLS_FLAGS_NOT_IN_HW;
	put(found, f);
}

static void put_bypass(struct snapshot *s)
{
	struct bypass_report *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	*b = (struct bypass_report){
		.block = 10,
		.strategy = BYPASS_STRATEGY_KERNEL,
		.state = BYPASS_OFF,
		.evidence = BYPASS_BY_READBACK,
		.since_ns = 1700000000000000000ULL,
		.filters = 3,
		.filters_sw = 1,
		.walked = 3,
		.reading = { .block = 10, .filters = 3, .filters_sw = 1, .packets = 1000 },
		.culprit_count = 1,
	};
	b->culprits[0] =
		(struct bypass_culprit){ .pref = 1, .protocol = ETHERTYPE_ALL, .handle = 1 };
	strcpy(b->culprits[0].text,
	       "pref 1 protocol all matchall handle 0x1, foreign: not skip_sw");
	strcpy(b->culprits[0].mend, "tc filter del block 10 pref 1");
	s->bypass = b;
	s->bypass_count = 1;
}

static void put_about(struct snapshot *s)
{
	static uint64_t number = 41;

	s->refs = 1;
	s->number = ++number;
	s->made_ns = now_realtime_ns();
	s->generation = 7;
	s->last_outcome = APPLY_DONE;
	s->last_apply_ns = 1700000000123456789ULL;
	s->counters_ns = now_realtime_ns() - 3000000000ULL;
	s->ability = BYPASS_ABILITY_READBACK;
	strcpy(s->ability_how, "the kernel says it");
	strcpy(s->kernel_release, "6.1.0-test");
	s->alerts = calloc(1, sizeof(*s->alerts));
	assert_non_null(s->alerts);
	s->alert_count = 1;
	s->alerts[0].since_ns = 1700000000000000000ULL;
	strcpy(s->alerts[0].id, "bypass-off");
	strcpy(s->alerts[0].about, "block edge");
	strcpy(s->alerts[0].text, "software classifies again");
}

struct snapshot *sample_snapshot_rules(size_t more)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	struct block *b = object_new(KIND_BLOCK, sizeof(*b));
	char name[RULE_NAME_MAX], dst[32];

	assert_non_null(s);
	assert_non_null(b);
	put_about(s);
	s->config = config_new("swd.yaml");
	s->filters = state_new();
	s->found = state_new();
	assert_non_null(s->config);
	put_ports(s->config, s->found);
	put_tx(s->config, s->found);
	assert_int_equal(measured_put(&s->measured, &(struct measured){ .dev = "lan2",
									.driver = "swsim",
									.frames = 4,
									.noisy = true }),
			 0);
	turns_vain(&s->turns, "lan2", 0, &(struct turns_pace){ 0 }, "the machine was busy");
	b->id = 10;
	strcpy(b->name, "edge");
	b->offload = OFFLOAD_REQUIRED;
	b->tagging = TAGGING_NONE;
	put(s->config->wanted, b);
	put_qdisc(s->config->wanted, "lan1");
	put_qdisc(s->config->wanted, "lan2");
	put_qdisc(s->config->wanted, "lan9");
	put_qdisc(s->found, "lan1");
	put_foreign(s->found);
	put_rule(s, 0, "no-bogons", "192.0.2.0/24", true);
	put_rule(s, 1, "no-tests", "198.51.100.0/24", true);
	put_rule(s, 2, "not-there", "203.0.113.0/24", false);
	for (size_t i = 0; i < more; i++) {
		snprintf(name, sizeof(name), "rule-%zu", i);
		snprintf(dst, sizeof(dst), "10.%zu.%zu.0/24", i / 256, i % 256);
		put_rule(s, 3 + i, name, dst, true);
	}
	put_bypass(s);
	return s;
}

struct snapshot *sample_snapshot(void)
{
	return sample_snapshot_rules(0);
}

struct fake fake;

int sample_start(void **state)
{
	fake_start(&fake, sample_snapshot(), NULL);
	return 0;
}

int sample_stop(void **state)
{
	fake_stop(&fake);
	return 0;
}
