/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/model/config.h"

#include "config/base/log.h"

struct config *config_new(const char *file)
{
	struct config *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->refs = 1;
	c->file = strdup(file);
	c->wanted = state_new();
	c->daemon = (struct daemon_settings){
		.settle_ms = 5,
		.audit_ms = 60000,
		.port_wait_ms = 10000,
		.history = HISTORY_DEFAULT,
		.log_level = LOG_LEVEL_INFO,
	};
	if (!c->file || !c->wanted) {
		config_unref(c);
		return NULL;
	}
	return c;
}

struct config *config_copy(const struct config *c)
{
	_cleanup_(config_unrefp) struct config *copy = config_new(c->file);
	struct state *wanted = copy ? state_copy(c->wanted) : NULL;

	if (!wanted)
		return NULL;
	state_free(copy->wanted);
	copy->wanted = wanted;
	copy->daemon = c->daemon;
	return take(copy);
}

struct config *config_ref(struct config *c)
{
	if (c)
		__atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
	return c;
}

void config_unref(struct config *c)
{
	if (!c || __atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	state_free(c->wanted);
	free(c->file);
	free(c);
}
