// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The way back from an apply that failed: see apply.h. The steps that were done are turned around,
 * last one first, with the objects as they were found before; then they are carried out by the same
 * code.
 */
#include "daemon/engine/apply.h"

#include <errno.h>
#include <linux/rtnetlink.h>

#include "config/model/tx.h"
#include "daemon/engine/owned.h"

/* A found object as something to wish for: without what only the kernel may say. */
static struct object *as_wanted(const struct object *found, const struct object *wanted_then)
{
	if (found->kind == KIND_FILTER) {
		struct filter *f = filter_copy((const struct filter *)found);

		if (!f)
			return NULL;
		f->flags &= TCA_CLS_FLAGS_SKIP_HW | TCA_CLS_FLAGS_SKIP_SW;
		f->obj.origin = wanted_then ? wanted_then->origin : (struct origin){ 0 };
		return &f->obj;
	}
	if (found->kind == KIND_TX && wanted_then) {
		struct tx *t =
			tx_only((const struct tx *)found, ((const struct tx *)wanted_then)->has);

		if (t)
			t->obj.origin = wanted_then->origin;
		return t ? &t->obj : NULL;
	}
	if (found->kind == KIND_PORT && wanted_then) {
		const struct port *then = (const struct port *)wanted_then;
		const struct port *was = (const struct port *)found;
		struct port *p = object_new(KIND_PORT, sizeof(*p));

		if (!p)
			return NULL;
		/* Only what was changed goes back. */
		memcpy(p->name, was->name, sizeof(p->name));
		p->has = then->has & was->has;
		p->mtu = was->mtu;
		p->up = was->up;
		p->tc_offload = was->tc_offload;
		p->obj.origin = then->obj.origin;
		return &p->obj;
	}
	return object_ref(found);
}

static int put_back(struct plan *p, const struct object *was, const struct object *wanted_then,
		    enum kernel_op op, const struct object *now)
{
	_cleanup_object_ struct object *wanted = as_wanted(was, wanted_then);

	return wanted ? plan_add(p, op, STEP_DIFFERENT, wanted, now) : -ENOMEM;
}

/* With a device its addresses went, without a step of their own. */
static int put_back_addresses(const struct apply *a, const char *dev, struct plan *p)
{
	for (size_t i = 0; i < state_count(a->before, KIND_ADDRESS); i++) {
		const struct address *addr = state_at(a->before, KIND_ADDRESS, i);
		int r = 0;

		/* Link-local ones come by themselves. */
		if (streq(addr->dev, dev) && addr->scope != RT_SCOPE_LINK)
			r = put_back(p, &addr->obj, NULL, KERNEL_ADD, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool in_plan(const struct plan *p, const struct object *key)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct object *o = step_object(&p->steps[i]);

		if (o->kind == key->kind && kind_ops((enum kind)key->kind)->compare(o, key) == 0)
			return true;
	}
	return false;
}

static int turn_around(const struct engine_owner *o, const struct apply *a, const struct step *s,
		       struct plan *p)
{
	const struct object *key = step_object(s);
	const struct object *was = state_find(a->before, key), *now = state_find(o->found, key);

	switch (s->op) {
	case KERNEL_ADD:
		/* Or it went again, and was put back in front of this step. */
		if (!now && in_plan(p, key))
			now = key;
		return now ? plan_add(p, KERNEL_REMOVE, STEP_LEFTOVER, NULL, now) : 0;
	case KERNEL_REMOVE:
		if (!was)
			was = s->found;
		/* An addition under the same key is taken back in front of this step. */
		if (now && !in_plan(p, key))
			return 0;
		return put_back(p, was, NULL, KERNEL_ADD, NULL);
	case KERNEL_CHANGE:
		/* A VLAN that the file lists as a port is found under its own kind. */
		if (!was)
			was = s->found;
		return put_back(p, was, s->wanted, KERNEL_CHANGE, now ? now : s->found);
	}
	return 0;
}

static int make_plan(const struct engine_owner *o, const struct apply *a, struct plan *p)
{
	for (size_t i = a->plan->count; i-- > 0;) {
		const struct step *s = &a->plan->steps[i];
		int r;

		/* What was refused with "something else" may have left something. */
		if (a->outcomes[i] != KERNEL_DONE && a->errors[i] != -EPROTO)
			continue;
		r = turn_around(o, a, s, p);
		if (r < 0)
			return r;
	}
	/* Addresses of devices that come back, behind the devices. */
	for (size_t i = 0, n = p->count; i < n; i++) {
		int r = 0;

		if (p->steps[i].op == KERNEL_ADD && p->steps[i].wanted->kind == KIND_VLAN)
			r = put_back_addresses(a, ((const struct vlan *)p->steps[i].wanted)->name,
					       p);
		if (r < 0)
			return r;
	}
	return 0;
}

int apply_undo(struct engine_owner *o, const struct apply *a, struct diags *d)
{
	_cleanup_(plan_clear) struct plan p = { 0 };
	_cleanup_(apply_clear) struct apply back = { .undo = true };
	int r;

	if (!a->before || a->done + a->refused == 0)
		return 0;
	r = make_plan(o, a, &p);
	if (r == 0)
		r = apply_run(o, &p, APPLY_EACH, d, &back);
	/* What was foreign and came back is not ours for that. */
	for (size_t i = 0; i < p.count; i++)
		if (p.steps[i].op == KERNEL_ADD && !owned_has(a->owned_before, p.steps[i].wanted))
			apply_disown(o, p.steps[i].wanted);
	return r < 0 ? -EIO : 0;
}
