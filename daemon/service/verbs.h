/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verbs: the table of everything a client can ask for: name, who may, what it takes, who answers.
 * The answers are in verbs_*.c, a group each; what they look like is said in interface.c, and a
 * test compares the two.
 */
#ifndef SWD_SERVICE_VERBS_H
#define SWD_SERVICE_VERBS_H

#include "daemon/service/access.h"
#include "daemon/service/call.h"
#include "daemon/service/varlink.h"

#define IO_SWD "io.swd.Switch."
#define ORG_VARLINK "org.varlink.service."

struct engine_event;

struct verb {
	const char *name; /* with its interface */
	enum access_need need;
	bool needs_more; /* a stream by nature: without "more" it is refused */
	struct varlink_param params[VARLINK_PARAMS_MAX + 1];
	void (*run)(struct call *c);
};

const struct verb *verb_at(size_t i); /* NULL behind the last */

/* A message came: decodes it, decides, and begins the call, or answers with an error. */
void verbs_receive(struct client *client, const char *text, size_t size);
/* Answers something that could not be read as a message. */
void verbs_refuse_message(struct client *client, const char *why);

/* verbs_about.c */
void verb_get_info(struct call *c);
void verb_get_interface_description(struct call *c);
/* verbs_status.c */
void verb_status(struct call *c);
/* verbs_ports.c */
void verb_ports(struct call *c);
/* verbs_tx.c */
void verb_tx(struct call *c);
void verb_measure_tx(struct call *c);
/* verbs_blocks.c */
void verb_blocks(struct call *c);
/* verbs_rules.c */
void verb_rules(struct call *c);
/* verbs_bypass.c */
void verb_bypass(struct call *c);
/* verbs_audit.c */
void verb_audit(struct call *c);
/* verbs_apply.c */
void verb_check(struct call *c);
void verb_plan(struct call *c);
void verb_apply(struct call *c);
void verb_confirm(struct call *c);
void verb_revert(struct call *c);
/* verbs_history.c */
void verb_history(struct call *c);
void verb_generation(struct call *c);
void verb_export(struct call *c);
/* verbs_monitor.c */
void verb_monitor(struct call *c);
void monitor_event(struct service *s, const struct engine_event *e);

#endif
