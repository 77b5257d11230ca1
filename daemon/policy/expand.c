// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules by tagging and family.
 *
 * How Linux looks at a frame, read in 6.1.192 and 6.12.117:
 * - A proto is asked only if its protocol is ETH_P_ALL or that of the frame, and the frame's is the
 *   *outermost* ethertype: the tag's, also when the tag is not in the data but in the skb's
 * vlan_tci field (__tcf_classify() uses skb_protocol(skb, false)). __netif_receive_skb_core() moves
 * the outer tag there before ingress classification, so hardware that strips tags makes no
 * difference. So protocol ip sees untagged frames alone, and protocol 802.1q all frames whose outer
 * tag is 802.1Q.
 * - flower takes TCA_FLOWER_KEY_ETH_TYPE from the protocol. If that is a tag it becomes the key
 *   vlan_tpid, and vlan_id, vlan_prio and vlan_ethtype are read (fl_set_key_vlan()). vlan_ethtype
 * is the ethertype right behind the outer tag; if it is no tag it is also the n_proto that decides
 * which of the IP keys are read. If it is a tag again, the same is done with cvlan_*. There is no
 * third level, and cvlan keys without vlan_ethtype are dropped without a word: so a rule on an
 * inner tag always says vlan_ethtype.
 * - With protocol all there is no n_proto, so flower reads MAC addresses, but no ip_proto, ports or
 * ARP keys. It would read IPv4 and IPv6 addresses, and the dissector finds those behind any number
 * of tags, but also behind PPPoE, HSR and batman headers: wider than a rule says, and drivers
 * refuse it.
 *
 * A frame with up to two tags has one outermost ethertype and at most two behind it. So these seven
 * forms for each ethertype P of the payload are disjoint, and together are "without, with one and
 * with two tags": protocol P; protocol Q or AD with vlan_ethtype P; protocol Q or AD with
 * vlan_ethtype Q or AD with cvlan_ethtype P. Nothing says "no tag, whatever is in it": flower's
 * num_of_vlans could (from 5.19 on), and no driver takes it. So a rule for untagged frames that
 * names no payload is refused.
 */
#include "daemon/policy/expand.h"

#include <errno.h>
#include <net/ethernet.h>
#include <stdarg.h>
#include <stdio.h>

#include "daemon/policy/payload.h"

#define TAG_Q 0x8100
#define TAG_AD 0x88a8

struct form {
	uint8_t count;
	uint16_t tags[VARIANT_TAGS];
};

static const struct form all_forms[] = {
	{ 0, { 0, 0 } },	   { 1, { TAG_Q, 0 } },	     { 1, { TAG_AD, 0 } },
	{ 2, { TAG_Q, TAG_Q } },   { 2, { TAG_Q, TAG_AD } }, { 2, { TAG_AD, TAG_Q } },
	{ 2, { TAG_AD, TAG_AD } },
};

struct forms {
	size_t count;
	struct form list[ARRAY_SIZE(all_forms)];
};

_Static_assert(ARRAY_SIZE(all_forms) * PAYLOADS_MAX <= VARIANTS_MAX, "all variants fit");

int rule_refuse(const struct rule *r, const struct block *b, struct diags *d, const char *part,
		const char *hint, const char *fmt, ...)
{
	char path[96], text[512];
	struct diag *diag;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(path, sizeof(path), "blocks.%s.rules[%u].%s", b->name, r->position, part);
	diag = diags_add(d, DIAG_ERROR, r->obj.origin, path, "%s", text);
	if (hint)
		diag_hint(diag, "%s", hint);
	return -EINVAL;
}

static void add_form(struct forms *forms, uint8_t count, uint16_t outer, uint16_t inner)
{
	forms->list[forms->count++] = (struct form){ count, { outer, inner } };
}

/* The match says tags: these forms. Such a rule needs no tagging, and may not contradict itself. */
static int forms_of_match(const struct rule *r, const struct block *b, struct diags *d,
			  uint16_t outer, bool two, struct forms *ret)
{
	if (r->tagging == TAGGING_NONE)
		return rule_refuse(r, b, d, "match.tagging", NULL,
				   "the rule matches on a tag, and says 'tagging: none'");
	if (r->tagging == TAGGING_ANY)
		return rule_refuse(
			r, b, d, "match.tagging", NULL,
			"the rule matches on a tag, and says 'tagging: any', which includes frames "
			"without one");
	if (!two)
		add_form(ret, 1, outer ? outer : TAG_Q, 0);
	if (two && outer != TAG_AD)
		add_form(ret, 2, TAG_Q, TAG_Q);
	if (two && outer != TAG_Q)
		add_form(ret, 2, TAG_AD, TAG_Q);
	return 0;
}

static int forms_of_tagging(const struct rule *r, const struct block *b, struct diags *d,
			    struct forms *ret)
{
	enum tagging tagging = r->tagging ? r->tagging : b->tagging;

	/* "ethertype: all" with nothing else said is a rule for all frames, in any block. */
	if (r->ethertype == ETHERTYPE_ALL && !r->tagging)
		tagging = TAGGING_ANY;
	switch (tagging) {
	case TAGGING_NONE:
		add_form(ret, 0, 0, 0);
		return 0;
	case TAGGING_ANY:
		memcpy(ret->list, all_forms, sizeof(all_forms));
		ret->count = ARRAY_SIZE(all_forms);
		return 0;
	case TAGGING_VLAN:
	case TAGGING_UNSET:
		break;
	}
	return rule_refuse(r, b, d, "match", "add 'vlan: ID', or say 'tagging: none' or 'any' here",
			   "'tagging: vlan' needs a match that says which VLAN");
}

static uint8_t family_of(uint16_t ethertype)
{
	return ethertype == ETHERTYPE_IP ? 4 : ethertype == ETHERTYPE_IPV6 ? 6 : 0;
}

/* payload 0: nothing is said of what is behind the tags. */
static void make_variant(const struct payload *p, const struct form *form, uint16_t payload,
			 struct variant *ret)
{
	ret->family = family_of(payload);
	ret->tag_count = form->count;
	memcpy(ret->tags, form->tags, sizeof(ret->tags));
	ret->match = p->match;
	ret->protocol = form->count ? form->tags[0] : payload;
	if (form->count == 2)
		match_set_u16(&ret->match, FIELD_VLAN_ETHTYPE, form->tags[1]);
	if (payload && form->count)
		match_set_u16(&ret->match,
			      form->count == 2 ? FIELD_CVLAN_ETHTYPE : FIELD_VLAN_ETHTYPE, payload);
}

int expand(const struct rule *r, const struct block *b, struct diags *d,
	   struct variant ret[VARIANTS_MAX], size_t *ret_count)
{
	unsigned int tags = match_tags(rule_match(r));
	struct forms forms = { 0 };
	struct payload p;
	size_t n = 0;
	int err;

	err = payload_of(r, b, d, &p);
	if (err < 0)
		return err;
	if (tags || p.outer_tag)
		err = forms_of_match(r, b, d, p.outer_tag, tags == 2, &forms);
	else
		err = forms_of_tagging(r, b, d, &forms);
	if (err < 0)
		return err;
	if (!p.count && forms.count == ARRAY_SIZE(all_forms)) {
		ret[0] = (struct variant){ .protocol = ETHERTYPE_ALL, .match = p.match };
		*ret_count = 1;
		return 0;
	}
	if (!p.count && forms.list[0].count == 0)
		return rule_refuse(
			r, b, d, "match",
			"add an ethertype or a field of IP or ARP, or say 'tagging: any'",
			"no filter can say 'every frame without a tag': say what is in it");
	for (size_t i = 0; i < MAX(p.count, 1); i++)
		for (size_t k = 0; k < forms.count; k++)
			make_variant(&p, &forms.list[k], p.count ? p.ethertypes[i] : 0, &ret[n++]);
	*ret_count = n;
	return 0;
}
