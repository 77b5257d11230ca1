// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer target: any bytes as a message of the kernel, through every codec that reads. Built by
 * clang with -fsanitize=fuzzer,address,undefined; corpus: corpus/codec/.
 */
#include <linux/ethtool_netlink.h>
#include <linux/rtnetlink.h>

#include "daemon/kernel/codec.h"
#include "daemon/kernel/genl.h"
#include "daemon/kernel/rtnl.h"
#include "daemon/kernel/tx.h"
#include "tests/unit/kernel/test_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_back(struct object *o)
{
	struct nl_msg *m;
	struct object *again = NULL;
	struct filter *f = (struct filter *)o;

	if (o->kind != KIND_FILTER)
		return;
	if (!match_valid(filter_match(f)))
		__builtin_trap();
	/* What can be written again must read as the same filter. */
	m = nlmsg_alloc_size(CODEC_MESSAGE_BYTES_MOST);
	if (m && codec_filter.put(m, KERNEL_ADD, o, NULL, &test_names) == 0) {
		if (codec_filter.parse(nlmsg_hdr(m), &test_names, &again) < 0 || !again ||
		    !kind_ops(KIND_FILTER)->satisfied(o, again))
			__builtin_trap();
	}
	nlmsg_free(m);
	object_unref(again);
}

/* The same for how a device sends: what was read can be asked for, and reads as it was. */
static void read_back_tx(const struct tx *t)
{
	static const struct family family = { .id = 20, .version = ETHTOOL_GENL_VERSION };
	struct nl_msg *m = nlmsg_alloc();
	struct tx *again = NULL;
	uint8_t command =
		t->part == TX_RING ? ETHTOOL_MSG_RINGS_GET_REPLY : ETHTOOL_MSG_COALESCE_GET_REPLY;

	if (m && family_begin(&family, m, command) == 0) {
		if (tx_put_set(m, t, NULL) < 0 || tx_parse(nlmsg_hdr(m), &again) < 0 || !again)
			__builtin_trap();
		if (!streq(again->dev, t->dev) || again->part != t->part || again->has != t->has ||
		    memcmp(again->value, t->value, sizeof(t->value)) != 0)
			__builtin_trap();
	}
	nlmsg_free(m);
	object_unref(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t types[] = { RTM_NEWLINK,	  RTM_NEWADDR,	  RTM_NEWQDISC,
					  RTM_NEWTFILTER, RTM_NEWTFILTER, NLMSG_ERROR };
	struct bypass_reading reading;
	struct object *o = NULL;
	struct tx *tx = NULL;
	struct nlmsghdr *h;
	char *words = NULL;
	int error;

	if (size < 1 || size > 16384)
		return 0;
	h = malloc(NLMSG_HDRLEN + size - 1);
	if (!h)
		return 0;
	*h = (struct nlmsghdr){ .nlmsg_len = (uint32_t)(NLMSG_HDRLEN + size - 1),
				.nlmsg_type = types[data[0] % ARRAY_SIZE(types)],
				.nlmsg_flags = data[0] & 0x80 ? NLM_F_ACK_TLVS : 0 };
	memcpy(h + 1, data + 1, size - 1);
	if (h->nlmsg_type == NLMSG_ERROR) {
		if (rtnl_ack_parse(h, &error, &words) == 0)
			free(words);
	} else if (codec_of_message(h->nlmsg_type)->parse(h, &test_names, &o) == 0 && o) {
		read_back(o);
	}
	bypass_genl_parse(h, &reading);
	if (tx_parse(h, &tx) == 0 && tx) {
		read_back_tx(tx);
		object_unref(tx);
	}
	object_unref(o);
	free(h);
	return 0;
}
