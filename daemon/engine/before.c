// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of what a trial changed of devices: see before.h.
 */
#include "daemon/engine/before.h"

#include <errno.h>

#include "daemon/engine/apply.h"
#include "daemon/engine/diff.h"
#include "daemon/engine/trial.h"

/* What both have of a device, be it listed as a port or as a VLAN. */
struct settings {
	const char *name;
	uint32_t has, mtu;
	uint8_t up, tc_offload;
};

static struct settings settings_of(const struct object *o)
{
	if (o->kind == KIND_VLAN) {
		const struct vlan *v = (const struct vlan *)o;

		return (struct settings){ v->name, v->has, v->mtu, v->up, 0 };
	} else {
		const struct port *p = (const struct port *)o;

		return (struct settings){ p->name, p->has, p->mtu, p->up, p->tc_offload };
	}
}

static uint32_t recorded(const struct state *s, const char *name)
{
	const struct port *p = s ? state_port(s, name) : NULL;

	return p ? p->has : 0;
}

/* What the step changes. */
static uint32_t changed(const struct settings *wanted, const struct settings *found)
{
	uint32_t has = wanted->has & found->has;

	if (wanted->up == found->up)
		has &= ~(uint32_t)PORT_HAS_UP;
	if (wanted->mtu == found->mtu)
		has &= ~(uint32_t)PORT_HAS_MTU;
	if (wanted->tc_offload == found->tc_offload)
		has &= ~(uint32_t)PORT_HAS_TC_OFFLOAD;
	return has;
}

static int put(struct state *s, struct port *p)
{
	int r = p ? state_put(s, p) : -ENOMEM;

	if (r < 0)
		object_unref(p);
	return r;
}

static struct port *record_of(const struct settings *was, uint32_t has)
{
	struct port *p = object_new(KIND_PORT, sizeof(*p));

	if (!p)
		return NULL;
	COPY_NAME(p->name, was->name);
	p->has = has;
	p->mtu = was->mtu;
	p->up = was->up;
	p->tc_offload = was->tc_offload;
	return p;
}

int before_collect(const struct engine_owner *o, const struct plan *plan, struct state **ret)
{
	_cleanup_(state_freep) struct state *s = state_new();
	int r = s ? 0 : -ENOMEM;

	for (size_t i = 0; i < plan->count && r == 0; i++) {
		const struct step *step = &plan->steps[i];

		if (step->op == KERNEL_CHANGE && step->wanted->kind == KIND_TX) {
			r = before_tx_collect(o, step, s);
			continue;
		}
		if (step->op != KERNEL_CHANGE ||
		    (step->wanted->kind != KIND_PORT && step->wanted->kind != KIND_VLAN))
			continue;
		struct settings wanted = settings_of(step->wanted), was = settings_of(step->found);
		uint32_t has = changed(&wanted, &was) & ~recorded(o->before, was.name);

		if (has)
			r = put(s, record_of(&was, has));
	}
	if (r == 0)
		*ret = take(s);
	return r;
}

int before_keep(struct engine_owner *o, const struct state *more)
{
	int r = 0;

	if (!o->before)
		o->before = state_new();
	if (!o->before)
		return -ENOMEM;
	for (size_t i = 0; i < state_count(more, KIND_PORT) && r == 0; i++) {
		const struct port *p = state_at(more, KIND_PORT, i);
		const struct port *old = state_port(o->before, p->name);
		struct settings was = settings_of(&p->obj);
		struct port *both = record_of(&was, p->has | (old ? old->has : 0));

		if (both && old) {
			both->up = old->has & PORT_HAS_UP ? old->up : p->up;
			both->mtu = old->has & PORT_HAS_MTU ? old->mtu : p->mtu;
			both->tc_offload =
				old->has & PORT_HAS_TC_OFFLOAD ? old->tc_offload : p->tc_offload;
		}
		r = put(o->before, both);
	}
	return r < 0 ? r : before_tx_keep(o, more);
}

/* What the configuration says of the device itself. */
static uint32_t said(const struct config *config, const char *name)
{
	const struct port *p = config ? state_port(config->wanted, name) : NULL;
	const struct vlan *v = config ? state_vlan(config->wanted, name) : NULL;

	return (p ? p->has : 0) | (v ? v->has : 0);
}

int before_plan(const struct engine_owner *o, const struct config *config, struct plan *plan)
{
	int r = 0;

	for (size_t i = 0; o->before && i < state_count(o->before, KIND_PORT) && r == 0; i++) {
		const struct port *p = state_at(o->before, KIND_PORT, i);
		_cleanup_object_ struct port *wanted = NULL, *found = NULL;
		struct settings was = settings_of(&p->obj);

		r = diff_found_port(o->found, p->name, &found);
		if (r < 0 || !found)
			continue;
		wanted = record_of(&was, p->has & ~said(config, p->name));
		if (!wanted)
			return -ENOMEM;
		if (!kind_ops(KIND_PORT)->satisfied(&wanted->obj, &found->obj))
			r = plan_add(plan, KERNEL_CHANGE, STEP_BEFORE, &wanted->obj, &found->obj);
	}
	return r < 0 || !o->before ? r : before_tx_plan(o, config, plan);
}

bool before_any(const struct engine_owner *o)
{
	return o->before &&
	       (state_count(o->before, KIND_PORT) > 0 || state_count(o->before, KIND_TX) > 0);
}

void before_put_back(struct engine_owner *o)
{
	_cleanup_(diags_freep) struct diags *d = diags_new("what was on trial");
	_cleanup_(plan_clear) struct plan plan = { 0 };
	_cleanup_(apply_clear) struct apply apply = { 0 };
	int r = d ? 0 : -ENOMEM;

	if (!before_any(o))
		return;
	if (r == 0)
		r = before_plan(o, o->config, &plan);
	if (r == 0)
		r = apply_run(o, &plan, APPLY_EACH, d, &apply);
	trial_log(d);
	if (r == 0 || r == -EIO)
		before_forget(o);
}

void before_forget(struct engine_owner *o)
{
	int r;

	state_free(take(o->before));
	pulse_wait(o->pulse);
	r = o->store ? store_forget_before(o->store) : 0;
	pulse_go(o->pulse);
	if (r < 0)
		owner_store_result(o, "what a trial changed can't be forgotten", r);
}
