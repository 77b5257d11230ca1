// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Codecs without a kernel: bytes that real programs got wrong, what must be refused because it
 * would match more than was asked, and messages from nowhere. Argument: the file of sample filters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "daemon/kernel/codec.h"
#include "daemon/kernel/cookie.h"
#include "daemon/kernel/settle.h"
#include "filter_text.h"
#include "test_names.h"

static struct sample *samples;
static size_t sample_count;

/* ---- helpers ---- */

static int put(const struct object *o, enum kernel_op op, struct nl_msg **ret)
{
	*ret = nlmsg_alloc_size(CODEC_MESSAGE_BYTES_MOST);
	return codec_of((enum kind)o->kind)
		->put(*ret, op, op == KERNEL_REMOVE ? NULL : o, op == KERNEL_REMOVE ? o : NULL,
		      &test_names);
}

static int put_text(const char *text)
{
	struct filter *f = filter_text_parse(text);
	struct nl_msg *m;
	int r;

	assert_non_null(f);
	r = put(&f->obj, KERNEL_ADD, &m);
	nlmsg_free(m);
	object_unref(f);
	return r;
}

/* True if the message holds these bytes, at an attribute's place. */
static bool holds(const struct nl_msg *m, const void *bytes, size_t size)
{
	const struct nlmsghdr *h = nlmsg_hdr((struct nl_msg *)(uintptr_t)m);

	for (size_t at = 0; at + size <= h->nlmsg_len; at += 4)
		if (memcmp((const uint8_t *)h + at, bytes, size) == 0)
			return true;
	return false;
}

static bool text_holds(const char *text, const void *bytes, size_t size)
{
	struct filter *f = filter_text_parse(text);
	struct nl_msg *m;
	bool found;

	assert_non_null(f);
	assert_int_equal(put(&f->obj, KERNEL_ADD, &m), 0);
	found = holds(m, bytes, size);
	nlmsg_free(m);
	object_unref(f);
	return found;
}

#define BYTES(...) ((const uint8_t[]){ __VA_ARGS__ }), sizeof((const uint8_t[]){ __VA_ARGS__ })
#define LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
/* The two bytes of a number in host order, and the length and type of an attribute. */
#define N16(v) (LITTLE ? (v)&0xff : (v) >> 8), (LITTLE ? (v) >> 8 : (v)&0xff)
#define N32(v) (LITTLE ? (v) : 0), 0, 0, (LITTLE ? 0 : (v))

/* ---- bytes ---- */

/* TC-13: the id is in host order, whatever linux/pkt_cls.h says beside it; the ethertype is not. */
static void vlan_keys_have_their_orders(void **state)
{
	const char *text = "filter block 10 pref 1 handle 1 protocol 802.1q flower\n"
			   "match vlan 1\nmatch vlan-ethtype ip\naction drop\n";

	assert_true(text_holds(text, BYTES(N16(6), N16(23), N16(1), 0, 0)));
	assert_true(text_holds(text, BYTES(N16(6), N16(25), 8, 0, 0, 0)));
}

static void inner_vlan_keys_too(void **state)
{
	const char *text = "filter block 10 pref 1 handle 1 protocol 802.1ad flower\n"
			   "match vlan 5\nmatch vlan-ethtype 802.1q\nmatch cvlan 256\n"
			   "match cvlan-ethtype ipv6\naction drop\n";

	assert_true(text_holds(text, BYTES(N16(6), N16(77), N16(256), 0, 0)));
	assert_true(text_holds(text, BYTES(N16(6), N16(25), 0x81, 0, 0, 0)));
	assert_true(text_holds(text, BYTES(N16(6), N16(79), 0x86, 0xdd, 0, 0)));
}

static void nl_04_flags_are_a_number_in_host_order(void **state)
{
	const char *sw =
		"filter block 10 pref 1 handle 1 protocol ip flower skip_sw\naction drop\n";
	const char *hw =
		"filter block 10 pref 1 handle 1 protocol ip flower skip_hw\naction drop\n";

	assert_true(text_holds(sw, BYTES(N16(8), N16(22), N32(2))));
	assert_true(text_holds(hw, BYTES(N16(8), N16(22), N32(1))));
	assert_false(text_holds(hw, BYTES(N16(8), N16(22), N32(2))));
}

/* Puts a filter, writes other flags over its own, and reads it. */
static uint32_t read_flags(uint8_t flags)
{
	struct filter *f = filter_text_parse("filter block 10 pref 1 handle 1 protocol ip flower "
					     "skip_sw\nmatch proto tcp\naction drop\n");
	uint8_t before[] = { N16(8), N16(22), N32(2) }, after[] = { N16(8), N16(22), N32(flags) };
	struct object *o = NULL;
	struct nl_msg *m;
	uint8_t *at;
	uint32_t got;

	assert_int_equal(put(&f->obj, KERNEL_ADD, &m), 0);
	at = memmem(nlmsg_hdr(m), nlmsg_hdr(m)->nlmsg_len, before, sizeof(before));
	assert_non_null(at);
	memcpy(at, after, sizeof(after));
	assert_int_equal(codec_filter.parse(nlmsg_hdr(m), &test_names, &o), 0);
	got = ((struct filter *)o)->flags;
	object_unref(o);
	object_unref(f);
	nlmsg_free(m);
	return got;
}

static void nl_04_flags_read_as_they_stand(void **state)
{
	static const struct {
		uint8_t raw;
		bool skip_hw, skip_sw, in_hw, not_in_hw;
	} rows[] = {
		{ 0x06, false, true, true, false },   { 0x0a, false, true, false, true },
		{ 0x09, true, false, false, true },   { 0x02, false, true, false, false },
		{ 0x04, false, false, true, false },  { 0x08, false, false, false, true },
		{ 0x00, false, false, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t f = read_flags(rows[i].raw);

		assert_int_equal(!!(f & TCA_CLS_FLAGS_SKIP_HW), rows[i].skip_hw);
		assert_int_equal(!!(f & TCA_CLS_FLAGS_SKIP_SW), rows[i].skip_sw);
		assert_int_equal(!!(f & TCA_CLS_FLAGS_IN_HW), rows[i].in_hw);
		assert_int_equal(!!(f & TCA_CLS_FLAGS_NOT_IN_HW), rows[i].not_in_hw);
	}
}

/* ---- never a wider match ---- */

#define KEY(protocol) "filter block 10 pref 1 handle 1 protocol " protocol " flower\n"

static void what_the_kernel_would_ignore_is_refused(void **state)
{
	static const char *const wide[] = {
		KEY("all") "action drop\n",
		KEY("all") "match dst 192.0.2.0/24\naction drop\n",
		KEY("all") "match proto tcp\naction drop\n",
		KEY("all") "match vlan 10\naction drop\n",
		KEY("ip") "match vlan 10\naction drop\n",
		KEY("ip") "match dst 2001:db8::/32\naction drop\n",
		KEY("ipv6") "match dst 192.0.2.0/24\naction drop\n",
		KEY("ip") "match dport 80\naction drop\n",
		KEY("ip") "match proto icmp\nmatch dport 80\naction drop\n",
		KEY("ip") "match dport 80-90\naction drop\n",
		KEY("ip") "match proto udp\nmatch tcp-flags syn\naction drop\n",
		KEY("ip") "match icmp-type 8\naction drop\n",
		KEY("ip") "match proto icmpv6\nmatch icmp-type 8\naction drop\n",
		KEY("ip") "match arp-op request\naction drop\n",
		KEY("arp") "match dst 192.0.2.0/24\naction drop\n",
		KEY("802.1q") "match dst 192.0.2.0/24\naction drop\n",
		KEY("802.1q") "match vlan-ethtype arp\nmatch dst 192.0.2.0/24\naction drop\n",
		KEY("802.1q") "match vlan-ethtype ip\nmatch cvlan 3\naction drop\n",
		KEY("802.1q") "match vlan-ethtype 802.1q\nmatch dst 192.0.2.1\naction drop\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(wide); i++) {
		if (put_text(wide[i]) != -EINVAL)
			fail_msg("not refused: %s", wide[i]);
	}
}

static void a_key_with_a_hole_is_refused(void **state)
{
	static const char *const holes[] = {
		"filter pref 1 handle 1 protocol ip flower\naction drop\n",
		"filter block 10 handle 1 protocol ip flower\naction drop\n",
		"filter block 10 pref 1 protocol ip flower\naction drop\n",
		"filter block 10 pref 1 handle 1 flower\naction drop\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(holes); i++) {
		struct filter *f = filter_text_parse(holes[i]);
		struct nl_msg *m;

		for (int op = KERNEL_ADD; op <= KERNEL_REMOVE; op++) {
			assert_int_equal(put(&f->obj, (enum kernel_op)op, &m), -EINVAL);
			nlmsg_free(m);
		}
		object_unref(f);
	}
}

static void actions_that_cannot_be_said_are_refused(void **state)
{
	assert_int_equal(put_text(KEY("ip") "action redirect lan9\n"), -ENODEV);
	assert_int_equal(put_text(KEY("ip") "action drop\naction pass\n"), -EINVAL);
	assert_int_equal(put_text(KEY("ip") "action sample 0 1\n"), -EINVAL);
	assert_int_equal(put_text(KEY("ip") "action csum 0\n"), -EINVAL);
	assert_int_equal(put_text(KEY("ip") "action goto 0x10000000\n"), -EINVAL);
	assert_int_equal(put_text(KEY("ip") "action vlan-push id 4096 protocol 0x8100\n"), -EINVAL);
	assert_int_equal(put_text("filter block 10 pref 1 handle 1 protocol ip matchall\n"
				  "match proto tcp\naction drop\n"),
			 -EINVAL);
}

/* ---- there and back ---- */

static void nl_05_every_sample_reads_back(void **state)
{
	bool fields[FIELD_COUNT_] = { false }, kinds[ACTION_COUNT_] = { false };

	for (size_t i = 0; i < sample_count; i++) {
		const struct filter *f = samples[i].filter, *g;
		struct match_entry e;
		struct object *o = NULL;
		struct nl_msg *m;
		size_t offset = 0;

		assert_int_equal(put(&f->obj, KERNEL_ADD, &m), 0);
		assert_int_equal(codec_filter.parse(nlmsg_hdr(m), &test_names, &o), 0);
		g = (const struct filter *)o;
		assert_int_equal(kind_ops(KIND_FILTER)->compare(&f->obj, o), 0);
		if (!kind_ops(KIND_FILTER)->satisfied(&f->obj, o))
			fail_msg("sample %zu reads back as something else", i + 1);
		assert_int_equal(g->owner, f->owner);
		while (match_next(filter_match(f), &offset, &e))
			fields[e.field] = true;
		for (size_t a = 0; a < f->action_count; a++)
			kinds[filter_actions(f)[a].kind] = true;
		object_unref(o);
		nlmsg_free(m);
	}
	/* The samples leave out no field and no action. */
	for (int f = 0; f < FIELD_COUNT_; f++)
		if (!fields[f])
			fail_msg("no sample has %s", field_row((enum field)f)->name);
	for (int a = 0; a < ACTION_COUNT_; a++)
		if (!kinds[a] && a != ACTION_OTHER)
			fail_msg("no sample has %s", action_name((enum action_kind)a));
}

static struct object *there_and_back(const struct object *o, enum kernel_op op)
{
	struct object *back = NULL;
	struct nl_msg *m;

	assert_int_equal(put(o, op, &m), 0);
	assert_int_equal(
		codec_of_message(nlmsg_hdr(m)->nlmsg_type)->parse(nlmsg_hdr(m), &test_names, &back),
		0);
	nlmsg_free(m);
	assert_non_null(back);
	return back;
}

static void a_qdisc_reads_back(void **state)
{
	struct qdisc *q = object_new(KIND_QDISC, sizeof(*q));
	struct object *back;
	struct nl_msg *m;

	COPY_NAME(q->dev, "dev3");
	COPY_NAME(q->type, "clsact");
	q->ingress_block = 10;
	q->egress_block = 0xfffffffe;
	back = there_and_back(&q->obj, KERNEL_ADD);
	assert_string_equal(((struct qdisc *)back)->dev, "dev3");
	assert_true(kind_ops(KIND_QDISC)->satisfied(&q->obj, back));
	object_unref(back);
	/* Never "replace": on a live clsact it binds nothing and says it did. */
	assert_int_equal(put(&q->obj, KERNEL_ADD, &m), 0);
	assert_int_equal(nlmsg_hdr(m)->nlmsg_flags & (NLM_F_EXCL | NLM_F_REPLACE), NLM_F_EXCL);
	nlmsg_free(m);
	assert_int_equal(put(&q->obj, KERNEL_CHANGE, &m), -EOPNOTSUPP);
	nlmsg_free(m);
	object_unref(q);
}

static void an_address_reads_back(void **state)
{
	for (uint8_t family = 4; family <= 6; family += 2) {
		struct address *a = object_new(KIND_ADDRESS, sizeof(*a));
		struct object *back;

		COPY_NAME(a->dev, "dev9");
		a->family = family;
		a->prefix_len = 31;
		memcpy(a->addr, "\xc0\x00\x02\x01", 4);
		back = there_and_back(&a->obj, KERNEL_ADD);
		assert_int_equal(kind_ops(KIND_ADDRESS)->compare(&a->obj, back), 0);
		object_unref(back);
		object_unref(a);
	}
}

static void a_vlan_needs_its_link(void **state)
{
	struct vlan *v = object_new(KIND_VLAN, sizeof(*v));
	struct object *back;
	struct nl_msg *m;

	COPY_NAME(v->name, "core.100");
	COPY_NAME(v->link, "gone");
	v->id = 100;
	v->protocol = 0x88a8;
	assert_int_equal(put(&v->obj, KERNEL_ADD, &m), -ENODEV);
	nlmsg_free(m);
	COPY_NAME(v->link, "dev4");
	assert_int_equal(put(&v->obj, KERNEL_ADD, &m), 0);
	/* What we send has no number yet; a link that is told always has one. */
	((struct ifinfomsg *)nlmsg_data(nlmsg_hdr(m)))->ifi_index = 50;
	back = NULL;
	assert_int_equal(codec_vlan.parse(nlmsg_hdr(m), &test_names, &back), 0);
	assert_int_equal(back->kind, KIND_VLAN);
	assert_string_equal(((struct vlan *)back)->link, "dev4");
	assert_int_equal(((struct vlan *)back)->id, 100);
	assert_int_equal(((struct vlan *)back)->protocol, 0x88a8);
	object_unref(back);
	nlmsg_free(m);
	object_unref(v);
}

static void a_bridges_word_on_its_port_is_no_news(void **state)
{
	struct ifinfomsg ifi = { .ifi_family = AF_BRIDGE, .ifi_index = 3 };
	struct nl_msg *m = nlmsg_alloc();
	struct object *o = NULL;

	assert_int_equal(codec_begin(m, RTM_DELLINK, 0, &ifi, sizeof(ifi)), 0);
	nla_put_string(m, IFLA_IFNAME, "dev3");
	assert_int_equal(codec_port.parse(nlmsg_hdr(m), &test_names, &o), 0);
	assert_null(o);
	nlmsg_free(m);
}

static void nothing_to_change_is_not_sent(void **state)
{
	struct port *p = object_new(KIND_PORT, sizeof(*p));
	struct nl_msg *m = nlmsg_alloc();

	COPY_NAME(p->name, "dev3");
	p->has = PORT_HAS_UP | PORT_HAS_MTU;
	p->up = 1;
	p->mtu = 1500;
	assert_int_equal(codec_port.put(m, KERNEL_CHANGE, &p->obj, &p->obj, &test_names), -ENODATA);
	nlmsg_free(m);
	object_unref(p);
}

/* ---- from nowhere ---- */

static void parse(const uint8_t *bytes, size_t size)
{
	const struct nlmsghdr *h = (const void *)bytes;
	const struct codec *codec = codec_of_message(h->nlmsg_type);
	struct object *o = NULL;
	int r = codec ? codec->parse(h, &test_names, &o) : 0;

	assert_true(r == 0 || r == -EBADMSG);
	if (o && o->kind == KIND_FILTER)
		assert_true(match_valid(filter_match((struct filter *)o)));
	object_unref(o);
}

/* Each sample, cut at every length: on the heap, so that a read beyond the end is seen. */
static void a_message_cut_short_is_harmless(void **state)
{
	for (size_t i = 0; i < sample_count; i++) {
		struct nl_msg *m;
		struct nlmsghdr *h;

		assert_int_equal(put(&samples[i].filter->obj, KERNEL_ADD, &m), 0);
		h = nlmsg_hdr(m);
		for (uint32_t len = NLMSG_HDRLEN; len <= h->nlmsg_len; len++) {
			uint8_t *copy = malloc(len);

			memcpy(copy, h, len);
			((struct nlmsghdr *)(void *)copy)->nlmsg_len = len;
			parse(copy, len);
			free(copy);
		}
		nlmsg_free(m);
	}
}

static void a_message_with_wrong_bytes_is_harmless(void **state)
{
	uint64_t random = 88172645463325252ULL;

	for (size_t i = 0; i < sample_count; i++) {
		struct nl_msg *m;
		uint32_t len;

		assert_int_equal(put(&samples[i].filter->obj, KERNEL_ADD, &m), 0);
		len = nlmsg_hdr(m)->nlmsg_len;
		for (int round = 0; round < 400; round++) {
			uint8_t *copy = malloc(len);

			memcpy(copy, nlmsg_hdr(m), len);
			for (int hit = 0; hit < 3; hit++) {
				random ^= random << 13;
				random ^= random >> 7;
				random ^= random << 17;
				copy[NLMSG_HDRLEN + random % (len - NLMSG_HDRLEN)] =
					(uint8_t)(random >> 32);
			}
			parse(copy, len);
			free(copy);
		}
		nlmsg_free(m);
	}
}

/* The kernel aligns attributes to 4 bytes, and 64-bit counters inside them are no better
 * off. */
static void nl_05_counters_are_read_from_any_place(void **state)
{
	struct tcmsg tcm = { .tcm_ifindex = (int)TCM_IFINDEX_MAGIC_BLOCK, .tcm_handle = 1 };
	struct {
		uint64_t bytes;
		uint32_t packets;
	} basic = { 0x1122334455667788ULL, 0xffffffff };
	uint64_t packets64 = 0x100000005ULL, hw64 = 0x200000007ULL;

	for (int shift = 0; shift < 2; shift++) {
		struct nl_msg *m = nlmsg_alloc();
		struct object *o = NULL;
		struct nlattr *options, *acts, *act, *stats;
		struct filter *f;

		tcm.tcm_block_index = 10;
		tcm.tcm_info = 1 << 16 | htons(0x0800);
		codec_begin(m, RTM_NEWTFILTER, 0, &tcm, sizeof(tcm));
		nla_put_string(m, TCA_KIND, "matchall");
		options = nla_nest_start(m, TCA_OPTIONS);
		acts = nla_nest_start(m, TCA_MATCHALL_ACT);
		act = nla_nest_start(m, 1);
		if (shift)
			nla_put_u32(m, TCA_ACT_INDEX, 1);
		nla_put_string(m, TCA_ACT_KIND, "gact");
		stats = nla_nest_start(m, TCA_ACT_STATS);
		nla_put(m, 1 /* BASIC */, 12, &basic);
		nla_put(m, 8 /* PKT64 */, 8, &packets64);
		nla_put(m, 7 /* BASIC_HW */, 12, &basic);
		nla_put(m, 8, 8, &hw64);
		nla_nest_end(m, stats);
		nla_nest_end(m, act);
		nla_nest_end(m, acts);
		nla_nest_end(m, options);
		assert_int_equal(codec_filter.parse(nlmsg_hdr(m), &test_names, &o), 0);
		f = (struct filter *)o;
		assert_int_equal(f->stats.bytes, basic.bytes);
		assert_int_equal(f->stats.packets, packets64);
		assert_int_equal(f->stats.hw_bytes, basic.bytes);
		assert_int_equal(f->stats.hw_packets, hw64);
		object_unref(o);
		nlmsg_free(m);
	}
}

/* ---- settling, cookies ---- */

static void settling_twice_changes_nothing(void **state)
{
	static const uint64_t rates[] = { 8,	     64000,	     10000000,
					  999999999, 80000000000ULL, 400000000000ULL };
	static const uint32_t bursts[] = { 1, 1500, 16384, 1000000, 100000000 };

	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(bursts); j++) {
			struct action a = { .kind = ACTION_POLICE }, b;
			int r;

			a.police.rate_bit = rates[i];
			a.police.burst = bursts[j];
			r = action_settle(&a, 0);
			if (r < 0) { /* more than the kernel's 274 s */
				assert_int_equal(r, -ERANGE);
				assert_true(bursts[j] / (rates[i] / 8.0) > 274);
				continue;
			}
			b = a;
			assert_true(a.police.burst >= bursts[j]);
			assert_int_equal(action_settle(&b, 0), 0);
			assert_memory_equal(&a, &b, sizeof(a));
		}
	}
}

static void a_kept_tag_keeps_its_type(void **state)
{
	struct action a = { .kind = ACTION_VLAN_MODIFY };

	assert_int_equal(action_settle(&a, 0x88a8), 0);
	assert_int_equal(a.vlan.ethertype, 0x88a8);
	a.vlan.ethertype = 0;
	assert_int_equal(action_settle(&a, 0x0800), 0);
	assert_int_equal(a.vlan.ethertype, 0x8100);
	assert_int_equal(a.vlan.has_prio, 0);
}

static void a_cookie_names_what_a_filter_does(void **state)
{
	struct filter *f = filter_copy(samples[0].filter);
	uint8_t a[COOKIE_SIZE], b[COOKIE_SIZE];

	cookie_make(f, 0x01020304, a);
	assert_true(cookie_is_ours(a, 0x01020304));
	assert_false(cookie_is_ours(a, 0x01020305));
	f->pref = 777;
	f->handle = 99;
	f->flags |= TCA_CLS_FLAGS_IN_HW;
	cookie_make(f, 0x01020304, b);
	assert_memory_equal(a, b, sizeof(a));
	f->flags |= TCA_CLS_FLAGS_SKIP_SW;
	cookie_make(f, 0x01020304, b);
	assert_memory_not_equal(a, b, sizeof(a));
	memcpy(b, "swd2", 4);
	assert_false(cookie_is_ours(b, 0x01020304));
	object_unref(f);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vlan_keys_have_their_orders),
		cmocka_unit_test(inner_vlan_keys_too),
		cmocka_unit_test(nl_04_flags_are_a_number_in_host_order),
		cmocka_unit_test(nl_04_flags_read_as_they_stand),
		cmocka_unit_test(what_the_kernel_would_ignore_is_refused),
		cmocka_unit_test(a_key_with_a_hole_is_refused),
		cmocka_unit_test(actions_that_cannot_be_said_are_refused),
		cmocka_unit_test(nl_05_every_sample_reads_back),
		cmocka_unit_test(a_qdisc_reads_back),
		cmocka_unit_test(an_address_reads_back),
		cmocka_unit_test(a_vlan_needs_its_link),
		cmocka_unit_test(a_bridges_word_on_its_port_is_no_news),
		cmocka_unit_test(nothing_to_change_is_not_sent),
		cmocka_unit_test(a_message_cut_short_is_harmless),
		cmocka_unit_test(a_message_with_wrong_bytes_is_harmless),
		cmocka_unit_test(nl_05_counters_are_read_from_any_place),
		cmocka_unit_test(settling_twice_changes_nothing),
		cmocka_unit_test(a_kept_tag_keeps_its_type),
		cmocka_unit_test(a_cookie_names_what_a_filter_does),
	};
	int r;

	if (argc != 2)
		return 2;
	samples = samples_load(argv[1], &sample_count);
	if (!samples)
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	samples_free(samples, sample_count);
	return r;
}
