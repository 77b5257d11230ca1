/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classifier: what filter.c asks of flower.c and matchall.c, which know the inside of TCA_OPTIONS.
 */
#ifndef SWD_KERNEL_CLASSIFIER_H
#define SWD_KERNEL_CLASSIFIER_H

#include "daemon/kernel/codec.h"

/* What a filter's options say. */
struct classified {
	struct match match;
	uint32_t flags, in_hw_count;
	struct nlattr *actions; /* the nest, or NULL; points into the message */
	bool strange;		/* it has keys that swd has no words for */
};

/* Fills the open TCA_OPTIONS nest, but for the actions. Errors as codec.put. */
int flower_put(struct nl_msg *m, const struct filter *f);
/* 0 or -EBADMSG. protocol: of the filter, host order. */
int flower_parse(const struct nlattr *options, uint16_t protocol, struct classified *ret);
int matchall_put(struct nl_msg *m, const struct filter *f);
int matchall_parse(const struct nlattr *options, struct classified *ret);
/* Of other classifiers only flags and actions are read, where we know their place. */
int classifier_other_parse(const char *kind, const struct nlattr *options, struct classified *ret);

/*
 * The protocol that stands behind all tags that filter and match speak of, in host order: the one
 * that decides which other fields mean anything. 0: unknown.
 */
uint16_t flower_network_protocol(uint16_t protocol, struct match_view match);

/* The flags a person or compile may ask for. */
#define CLASSIFIER_FLAGS_ASKED \
	(TCA_CLS_FLAGS_SKIP_HW | TCA_CLS_FLAGS_SKIP_SW | TCA_CLS_FLAGS_VERBOSE)

#endif
