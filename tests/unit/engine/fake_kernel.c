// SPDX-License-Identifier: GPL-2.0-or-later
/* The side of the paper kernel that the engine sees. */
#include "fake_world.h"

#include <errno.h>

#include "daemon/kernel/cookie.h"

/* ---- kernel.h ---- */

int kernel_open(struct kernel **ret)
{
	*ret = (struct kernel *)&fake;
	return 0;
}

void kernel_close(struct kernel *k)
{
}

/* As the codec does when it reads them. */
void kernel_set_instance(struct kernel *k, uint32_t instance)
{
	_held_ uint32_t held = world_hold();

	fake.instance = instance;
	for (size_t i = 0; i < state_count(fake.world, KIND_FILTER); i++) {
		struct filter *f = filter_copy(state_at(fake.world, KIND_FILTER, i));

		f->owner = f->has_cookie && cookie_is_ours(f->cookie, instance) ? OWNER_OURS
										: OWNER_FOREIGN;
		world_put(f);
	}
}

int kernel_dump(struct kernel *k, enum kind kind, uint32_t block, struct state *into)
{
	_held_ uint32_t held = world_hold();
	bool missed = false;

	fake.looks += kind != KIND_VLAN; /* which comes with the ports */
	if (fake.dump_error)
		return fake.dump_error;
	if (fake.dumps_fail) {
		fake.dumps_fail--;
		return -EAGAIN;
	}
	for (size_t i = 0; i < state_count(fake.world, kind); i++) {
		const struct object *o = state_at(fake.world, kind, i);

		if (kind == KIND_FILTER && ((const struct filter *)o)->block != block)
			continue;
		if (kind == KIND_FILTER && fake.dump_misses_one && !missed) {
			missed = true;
			continue;
		}
		state_put(into, object_ref(o));
	}
	return kind == KIND_PORT ? kernel_dump(k, KIND_VLAN, 0, into) : 0;
}

int kernel_dump_pref(struct kernel *k, const struct filter *key, struct state *into)
{
	_held_ uint32_t held = world_hold();

	fake.looks++;
	for (size_t i = 0; i < state_count(fake.world, KIND_FILTER); i++) {
		const struct filter *f = state_at(fake.world, KIND_FILTER, i);

		if (f->block == key->block && f->chain == key->chain && f->pref == key->pref)
			state_put(into, object_ref(f));
	}
	return 0;
}

int kernel_get(struct kernel *k, const struct object *key, struct object **ret)
{
	_held_ uint32_t held = world_hold();
	const struct object *o;

	fake.looks++;
	if (key->kind == KIND_TX && ((const struct tx *)key)->part == TX_COALESCE &&
	    fake.coalesce_error)
		return fake.coalesce_error;
	if (key->kind == KIND_PORT)
		o = world_device(((const struct port *)key)->name);
	else if (key->kind == KIND_VLAN)
		o = world_device(((const struct vlan *)key)->name);
	else
		o = state_find(fake.world, key);
	if (!o)
		return -ENOENT;
	*ret = object_ref(o);
	return 0;
}

/* ---- a block in parts ---- */

/* As Linux does it, a part is written when the one before it is read. */
static struct {
	uint32_t block;
	size_t next;
	bool more;
	struct state *ready; /* NULL: nothing is being read */
} walk;

static void write_part(void)
{
	size_t n = fake_filters(walk.block), end = fake.part ? MIN(n, walk.next + fake.part) : n;

	walk.ready = state_new();
	for (; walk.next < end; walk.next++)
		if (walk.next || !fake.dump_misses_one)
			state_put(walk.ready, object_ref(fake_filter(walk.block, walk.next)));
	walk.more = end < n;
}

int kernel_walk_begin(struct kernel *k, uint32_t block)
{
	_held_ uint32_t held = world_hold();

	kernel_walk_end(k);
	if (fake.dump_error)
		return fake.dump_error;
	walk.block = block;
	walk.next = 0;
	write_part();
	return 0;
}

int kernel_walk_part(struct kernel *k, kernel_filter_fn fn, void *data)
{
	_held_ uint32_t held = world_hold();
	_cleanup_(state_freep) struct state *part = take(walk.ready);
	int r = walk.more;

	fake.parts++;
	if (walk.more)
		write_part();
	if (fake.dumps_fail) {
		fake.dumps_fail--;
		r = -EAGAIN;
	}
	world_release(&held);
	for (size_t i = 0; r >= 0 && i < state_count(part, KIND_FILTER); i++) {
		int e = fn(state_at(part, KIND_FILTER, i), data);

		r = e < 0 ? e : r;
	}
	held = world_hold();
	if (r < 0)
		kernel_walk_end(k);
	return r;
}

void kernel_walk_end(struct kernel *k)
{
	state_free(take(walk.ready));
}

const char *kernel_dev_name(const struct kernel *k, uint32_t ifindex)
{
	return NULL;
}

uint32_t kernel_dev_index(const struct kernel *k, const char *name)
{
	return 0;
}

static int add_vlan(const struct vlan *w)
{
	struct vlan *v;

	if (world_device(w->name))
		return -EEXIST;
	if (!world_device(w->link))
		return -ENODEV;
	if (world_vlan_on(w))
		return -EEXIST;
	v = object_new(KIND_VLAN, sizeof(*v));
	memcpy(v->name, w->name, sizeof(v->name));
	memcpy(v->link, w->link, sizeof(v->link));
	v->id = w->id;
	v->protocol = w->protocol;
	v->has = PORT_HAS_UP | PORT_HAS_MTU;
	v->up = w->has & PORT_HAS_UP ? w->up : 0;
	v->mtu = w->has & PORT_HAS_MTU ? w->mtu : 1500;
	v->facts.ifindex = world_ifindex();
	v->facts.offload = -1;
	world_put(v);
	world_emit(KERNEL_EVENT_NEW, v, false); /* links do not tell who did it */
	return 0;
}

static int change_link(const struct object *wanted)
{
	const struct object *now =
		world_device(wanted->kind == KIND_PORT ? ((const struct port *)wanted)->name
						       : ((const struct vlan *)wanted)->name);

	if (!now)
		return -ENODEV;
	if (now->kind == KIND_PORT) {
		const struct port *w = (const struct port *)wanted;
		struct port *p = world_copy_port((const struct port *)now);

		p->up = w->has & PORT_HAS_UP ? w->up : p->up;
		p->mtu = w->has & PORT_HAS_MTU ? w->mtu : p->mtu;
		p->tc_offload = w->has & PORT_HAS_TC_OFFLOAD ? w->tc_offload : p->tc_offload;
		world_put(p);
		world_emit(KERNEL_EVENT_NEW, p, false);
		return 0;
	}
	world_change_vlan((const struct vlan *)now, (const struct vlan *)wanted);
	return 0;
}

static int change_tx(const struct tx *wanted)
{
	const struct tx *now = tx_find(fake.world, wanted->dev, (enum tx_part)wanted->part);

	if (!now)
		return -ENODEV;
	if (tx_lacks(wanted, now))
		return -EOPNOTSUPP;
	world_change_tx(now, wanted);
	if (wanted->part == TX_RING && fake.ring_step)
		fake_set_tx(wanted->dev, TX_RING, 0,
			    (wanted->value[0] + fake.ring_step - 1) / fake.ring_step *
				    fake.ring_step);
	return 0;
}

static bool is_idle(const char *dev)
{
	return fake.idle_port && streq(dev, fake.idle_port);
}

static bool has_idle_member(uint32_t block)
{
	for (size_t i = 0; i < state_count(fake.world, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(fake.world, KIND_QDISC, i);

		if (q->ingress_block == block && is_idle(q->dev))
			return true;
	}
	return false;
}

static bool in_hardware(uint32_t block)
{
	for (size_t i = 0; i < fake_filters(block); i++)
		if (fake_filter(block, i)->flags & TCA_CLS_FLAGS_IN_HW)
			return true;
	return false;
}

static int add_plain(struct kernel_request *req)
{
	const struct object *wanted = req->wanted;

	if (state_find(fake.world, wanted))
		return -EEXIST;
	if (wanted->kind == KIND_ADDRESS) {
		const struct address *w = (const struct address *)wanted;
		struct address *a;

		if (!world_device(w->dev))
			return -ENODEV;
		a = object_new(KIND_ADDRESS, sizeof(*a));
		memcpy(a->dev, w->dev, sizeof(a->dev));
		a->family = w->family;
		a->prefix_len = w->prefix_len;
		memcpy(a->addr, w->addr, sizeof(a->addr));
		world_put(a);
		world_emit(KERNEL_EVENT_NEW, a, true);
	} else {
		const struct qdisc *w = (const struct qdisc *)wanted;
		struct qdisc *q;

		if (!world_device(w->dev))
			return -ENODEV;
		if (is_idle(w->dev) && in_hardware(w->ingress_block))
			return -EOPNOTSUPP;
		q = object_new(KIND_QDISC, sizeof(*q));
		memcpy(q->dev, w->dev, sizeof(q->dev));
		memcpy(q->type, w->type, sizeof(q->type));
		q->ingress_block = w->ingress_block;
		q->egress_block = w->egress_block;
		world_put(q);
		world_emit(KERNEL_EVENT_NEW, q, true);
		req->echo = object_ref(q);
	}
	return 0;
}

/* What Linux refuses beside what is there. */
static int check_filter(const struct filter *w, const struct filter *same, enum kernel_op op)
{
	if (!world_bound(w->block))
		return -EINVAL;
	if (w->flags & TCA_CLS_FLAGS_SKIP_SW && has_idle_member(w->block))
		return -EOPNOTSUPP;
	for (size_t i = 0; i < fake_filters(w->block); i++) {
		const struct filter *f = fake_filter(w->block, i);

		if (f->chain != w->chain || f->pref != w->pref)
			continue;
		if (f->protocol != w->protocol || f->type != w->type)
			return -EINVAL;
		if (f == same)
			continue;
		if (w->type == FILTER_MATCHALL ||
		    match_compare(filter_match(f), filter_match(w)) == 0)
			return -EEXIST;
	}
	if (op == KERNEL_ADD)
		return same ? -EEXIST : 0;
	if (!same)
		return -ENOENT;
	if (w->type == FILTER_MATCHALL)
		return -EEXIST;
	return match_same_mask(filter_match(w), filter_match(same)) ||
			       match_compare(filter_match(w), filter_match(same)) == 0
		       ? 0
		       : -EINVAL;
}

/* What hardware refuses beside what it holds: Linux gives it the new one before the old one goes.
 */
static int check_hardware(const struct filter *w, enum kernel_op op)
{
	if (fake.table && op == KERNEL_ADD && fake_filters(w->block) >= fake.table)
		return -ENOSPC;
	for (size_t i = 0; i < w->action_count && fake.lacks; i++)
		if (filter_actions(w)[i].kind == fake.lacks)
			return -EOPNOTSUPP;
	for (size_t i = 0; i < fake_filters(w->block); i++) {
		const struct filter *f = fake_filter(w->block, i);

		if (f->chain != w->chain || f->protocol != w->protocol ||
		    match_compare(filter_match(f), filter_match(w)) != 0)
			continue;
		if (fake.no_replace && f->pref == w->pref)
			return -EOPNOTSUPP;
		if (fake.no_equal && f->pref != w->pref && !filter_same_actions(f, w))
			return -EEXIST;
	}
	return 0;
}

static int put_filter(struct kernel_request *req)
{
	const struct filter *w = (const struct filter *)req->wanted;
	const struct filter *same = state_find(fake.world, w);
	int r = check_filter(w, same, req->op);
	struct filter *f;

	if (r == 0)
		r = check_hardware(w, req->op);
	if (r < 0)
		return r;
	f = filter_copy(w);
	object_unref(f->rule);
	f->rule = NULL;
	f->obj.origin = (struct origin){ 0 };
	f->role = FILTER_ROLE_RULE;
	f->owner = f->has_cookie && cookie_is_ours(f->cookie, fake.instance) ? OWNER_OURS
									     : OWNER_FOREIGN;
	f->flags |= f->flags & TCA_CLS_FLAGS_SKIP_HW || has_idle_member(w->block)
			    ? TCA_CLS_FLAGS_NOT_IN_HW
			    : TCA_CLS_FLAGS_IN_HW;
	world_put(f);
	world_emit(KERNEL_EVENT_NEW, f, true);
	req->echo = object_ref(f);
	return 0;
}

static int take_away(const struct object *key)
{
	_cleanup_object_ struct object *now = object_ref(state_find(fake.world, key));

	if (!now)
		return -ENOENT;
	if (now->kind == KIND_VLAN)
		world_device_goes(((const struct vlan *)now)->name);
	else if (now->kind == KIND_QDISC)
		world_qdisc_goes((const struct qdisc *)now);
	else
		world_drop(now);
	world_emit(KERNEL_EVENT_GONE, now, now->kind != KIND_VLAN);
	return 0;
}

static int carry_out(struct kernel_request *req)
{
	if (req->op == KERNEL_REMOVE)
		return take_away(req->found);
	if (req->wanted->kind == KIND_FILTER)
		return put_filter(req);
	if (req->wanted->kind == KIND_TX)
		return change_tx((const struct tx *)req->wanted);
	if (req->op == KERNEL_CHANGE)
		return change_link(req->wanted);
	return req->wanted->kind == KIND_VLAN ? add_vlan((const struct vlan *)req->wanted)
					      : add_plain(req);
}

static bool is_refused(const struct kernel_request *req)
{
	const struct filter *f = (const struct filter *)req->wanted;

	if (fake.requests == fake.fail_at)
		return true;
	if (fake.fail_all_from && fake.requests >= fake.fail_all_from)
		return true;
	return fake.refuse_rule && f && f->obj.kind == KIND_FILTER && f->rule &&
	       streq(f->rule->name, fake.refuse_rule);
}

/* The last look of the kernel room: true if it settled the request. */
static bool is_anothers(struct kernel_request *req)
{
	const struct filter *seen = (const struct filter *)req->found, *now;

	if (req->op == KERNEL_ADD || !seen || seen->obj.kind != KIND_FILTER)
		return false;
	now = state_find(fake.world, seen);
	if (!now || now->owner == seen->owner)
		return false;
	req->outcome = req->op == KERNEL_REMOVE ? KERNEL_DONE : KERNEL_REFUSED;
	req->error = -EEXIST;
	req->echo = object_ref(now);
	if (req->op != KERNEL_REMOVE)
		req->words = strdup("another's filter is in its place now, and stays");
	return true;
}

int kernel_execute(struct kernel *k, struct kernel_request *list, size_t n)
{
	_held_ uint32_t held = world_hold();
	static const char signs[] = { '+', '~', '-' };

	for (size_t i = 0; i < n; i++) {
		struct kernel_request *req = &list[i];
		int r;

		if (is_anothers(req))
			continue;
		fake.requests++;
		fake.looks_before = fake.looks;
		world_note(signs[req->op], req->wanted ? req->wanted : req->found);
		if (fake.requests == fake.unknown_not_at) {
			req->outcome = KERNEL_UNKNOWN;
			continue;
		}
		r = is_refused(req) ? -EIO : carry_out(req);
		req->outcome = KERNEL_DONE;
		req->error = r;
		if (r < 0 && !(r == -ENOENT && req->op == KERNEL_REMOVE)) {
			req->outcome = KERNEL_REFUSED;
			req->words = strdup("the paper hardware can't");
			fake.refused++;
		}
		if (fake.requests == fake.unknown_at) {
			object_unref(take(req->echo));
			req->outcome = KERNEL_UNKNOWN;
		}
	}
	return 0;
}

void kernel_request_clear(struct kernel_request *r)
{
	free(r->words);
	object_unref(r->echo);
	r->words = NULL;
	r->echo = NULL;
}

void kernel_counts(const struct kernel *k, struct kernel_counts *ret)
{
	*ret = (struct kernel_counts){ .messages = fake.requests };
}

size_t kernel_event_fds(const struct kernel *k, int fds[KERNEL_EVENT_FDS])
{
	return 0;
}

int kernel_read_events(struct kernel *k, size_t most, kernel_event_fn fn, void *data,
		       bool *ret_more)
{
	_held_ uint32_t held = world_hold();
	struct queued q;

	if (fake.lose_events) {
		struct kernel_event lost = { .type = KERNEL_EVENT_LOST };

		fake.lose_events = false;
		while (world_next_event(&q))
			object_unref(q.object);
		world_release(&held);
		fn(&lost, data);
		held = world_hold();
	}
	for (size_t i = 0; i < most && world_next_event(&q); i++) {
		struct kernel_event e = {
			.type = q.type,
			.object = q.object,
			.old_name = q.old_name,
			.own = q.own,
		};

		world_release(&held);
		fn(&e, data);
		held = world_hold();
		object_unref(q.object);
	}
	if (ret_more)
		*ret_more = false;
	return 0;
}

int kernel_ignore_own_filters(struct kernel *k)
{
	return 0; /* they come, as where the kernel can't filter */
}

int kernel_probe_bypass(enum bypass_ability *ret, const char **ret_how)
{
	*ret = fake.ability;
	*ret_how = "paper";
	return 0;
}

int kernel_direction_filters(struct kernel *k, const char *dev, bool egress, bool *ret_any)
{
	*ret_any = fake.other_direction;
	return 0;
}

int kernel_read_bypass(struct kernel *k, uint32_t block, struct bypass_reading *ret)
{
	return -EOPNOTSUPP;
}
