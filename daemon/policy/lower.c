// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Actions, made exact for the frames of one variant. What the kernel would do in silence to some of
 * them is refused here (read in 6.1.192 and 6.12.117):
 * - vlan-modify leaves a frame without a tag as it is, and passes on (tcf_vlan_act()).
 * - trap is for hardware; in software it swallows the frame (linux/pkt_cls.h on TC_ACT_TRAP).
 * - TTL is edited where the network header is said to be. At ingress that is behind the outer tag;
 * so behind two tags software would change the inner tag (pedit_skb_hdr_offset(),
 * skb_vlan_untag()), while hardware finds the IP header.
 */
#include "daemon/policy/lower.h"

#include <errno.h>
#include <linux/tc_act/tc_csum.h>
#include <stdio.h>

#include "daemon/kernel/settle.h"

#define TAG_Q 0x8100

/* The tags a frame is known to carry at some point of the list, outer first. */
struct tags {
	uint8_t count;
	uint16_t list[VARIANT_TAGS + ACTIONS_MAX];
};

struct lowering {
	const struct rule *rule;
	const struct block *block;
	const struct variant *variant;
	uint32_t flags;
	struct diags *d;
	struct tags tags;
	struct action *out;
	size_t count;
};

static int refuse(const struct lowering *l, const char *text, const char *hint)
{
	return rule_refuse(l->rule, l->block, l->d, "action", hint, "%s", text);
}

static void push_tag(struct tags *t, uint16_t ethertype)
{
	memmove(t->list + 1, t->list, t->count * sizeof(t->list[0]));
	t->list[0] = ethertype;
	t->count++;
}

static void pop_tag(struct tags *t)
{
	t->count--;
	memmove(t->list, t->list + 1, t->count * sizeof(t->list[0]));
}

static int lower_vlan(struct lowering *l, struct action *a)
{
	if (a->kind == ACTION_VLAN_PUSH) {
		if (!a->vlan.ethertype)
			a->vlan.ethertype = TAG_Q;
		push_tag(&l->tags, a->vlan.ethertype);
		return 0;
	}
	if (!l->tags.count)
		return refuse(l,
			      a->kind == ACTION_VLAN_POP
				      ? "'vlan-pop' on frames that may have no tag"
				      : "'vlan-modify' on frames that may have no tag",
			      "match on a 'vlan', or use 'vlan-push'");
	if (a->kind == ACTION_VLAN_POP) {
		pop_tag(&l->tags);
		return 0;
	}
	if (!a->vlan.ethertype)
		a->vlan.ethertype = l->tags.list[0];
	l->tags.list[0] = a->vlan.ethertype;
	return 0;
}

static int lower_ttl(struct lowering *l, struct action *a)
{
	if (l->tags.count > 1 && !(l->flags & TCA_CLS_FLAGS_SKIP_SW))
		return refuse(l, "'dec-ttl' behind two tags is for hardware alone",
			      "say 'offload: required', or 'tagging: none' or a 'vlan'");
	memset(a->bytes, 0, sizeof(a->bytes));
	a->ttl.family_v6 = l->variant->family == 6;
	return 0;
}

static int lower_one(struct lowering *l, struct action *a)
{
	switch ((enum action_kind)a->kind) {
	case ACTION_VLAN_PUSH:
	case ACTION_VLAN_POP:
	case ACTION_VLAN_MODIFY:
		return lower_vlan(l, a);
	case ACTION_DEC_TTL:
		return lower_ttl(l, a);
	case ACTION_TRAP:
		if (!(l->flags & TCA_CLS_FLAGS_SKIP_SW))
			return refuse(l, "'trap' in software would swallow the frame",
				      "say 'offload: required' for this rule, or 'pass'");
		return 0;
	case ACTION_CSUM:
	case ACTION_OTHER:
	case ACTION_COUNT_:
		return refuse(l, "this action is not for rules", NULL);
	case ACTION_PASS:
	case ACTION_DROP:
	case ACTION_GOTO:
	case ACTION_REDIRECT:
	case ACTION_MIRROR:
	case ACTION_SET_SRC:
	case ACTION_SET_DST:
	case ACTION_POLICE:
	case ACTION_SAMPLE:
		return 0;
	}
	return 0;
}

/* What the kernel can't keep as it is said is rounded here, so that the echo is what was wanted. */
static int settle(struct lowering *l, struct action *a)
{
	switch (action_settle(a, l->tags.count ? l->tags.list[0] : 0)) {
	case 0:
		return 0;
	case -ERANGE:
		return refuse(l, "the kernel can't hold so large a burst at this rate",
			      "it takes at most 274 seconds' worth");
	}
	return refuse(l, "the kernel can't hold this action", NULL);
}

int lower(const struct rule *r, const struct block *b, const struct variant *v, uint32_t flags,
	  struct diags *d, struct action ret[LOWERED_MAX], size_t *ret_count)
{
	struct lowering l = {
		.rule = r, .block = b, .variant = v, .flags = flags, .d = d, .out = ret
	};
	int err;

	l.tags.count = v->tag_count;
	memcpy(l.tags.list, v->tags, sizeof(v->tags));
	if (!r->action_count)
		return refuse(&l, "a rule needs an action", NULL);
	if (r->action_count > ACTIONS_MAX)
		return refuse(&l, "too many actions", NULL);
	for (size_t i = 0; i < r->action_count; i++) {
		struct action *a = &ret[l.count++];

		*a = rule_actions(r)[i];
		err = lower_one(&l, a);
		if (err == 0)
			err = settle(&l, a);
		if (err < 0)
			return err;
		/* pedit changes bytes and no checksum; IPv6 has none in its header. */
		if (a->kind == ACTION_DEC_TTL && v->family == 4)
			ret[l.count++] =
				(struct action){ .kind = ACTION_CSUM,
						 .csum.flags = TCA_CSUM_UPDATE_FLAG_IPV4HDR };
	}
	*ret_count = l.count;
	return 0;
}
