/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * action_args: what an action is given: a device, a chain, a MAC address, a VLAN, a rate.
 */
#ifndef SWD_YAML_ACTION_ARGS_H
#define SWD_YAML_ACTION_ARGS_H

#include "config/model/action.h"
#include "config/yaml/schema.h"

/* What it needs, in words ("a device"), or NULL if the word alone is the action. */
const char *action_needs(enum action_kind kind);
/* Those below are for actions that need something. Reads it into a, whose kind is set. 0, -EINVAL
 * after adding errors, or -ENOMEM. */
int action_read_argument(struct reader *r, const struct node *n, struct action *a);
void action_print_argument(struct printer *p, const struct action *a);
/* The members of its JSON schema. */
void action_argument_schema(struct jsonw *w, enum action_kind kind);

#endif
