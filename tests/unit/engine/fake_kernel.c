// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_kernel.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/base/netaddr.h"
#include "daemon/kernel/cookie.h"

struct queued {
	enum kernel_event_type type;
	struct object *object;
	char old_name[IFNAMSIZ];
	bool own;
};

struct fake fake;

static struct queued queue[65536];
static size_t queue_count, queue_read;
static uint32_t next_ifindex;

/* ---- small things ---- */

static void emit(enum kernel_event_type type, const void *object, bool own)
{
	assert(queue_count < 65536);
	queue[queue_count++] = (struct queued){ type, object_ref(object), "", own };
}

static void put(void *object)
{
	int r = state_put(fake.world, object);

	assert(r == 0);
}

static void drop(const void *object)
{
	_cleanup_object_ struct object *held = object_ref(object);

	state_remove(fake.world, held);
}

static void note(char sign, const struct object *o)
{
	char label[OBJECT_LABEL];

	if (fake.log_count == 512)
		return;
	object_label(o, label);
	snprintf(fake.log[fake.log_count++], 160, "%c %.150s", sign, label);
}

static const struct object *device(const char *name)
{
	const struct port *p = state_port(fake.world, name);
	const struct vlan *v = state_vlan(fake.world, name);

	return p ? &p->obj : v ? &v->obj : NULL;
}

static bool binds(const struct qdisc *q, uint32_t block)
{
	return q->ingress_block == block || q->egress_block == block;
}

static bool bound(uint32_t block)
{
	for (size_t i = 0; i < state_count(fake.world, KIND_QDISC); i++)
		if (binds(state_at(fake.world, KIND_QDISC, i), block))
			return true;
	return false;
}

size_t fake_filters(uint32_t block)
{
	size_t first, end;

	state_block_filters(fake.world, block, &first, &end);
	return end - first;
}

const struct filter *fake_filter(uint32_t block, size_t i)
{
	size_t first, end;

	state_block_filters(fake.world, block, &first, &end);
	return first + i < end ? state_at(fake.world, KIND_FILTER, first + i) : NULL;
}

/* ---- what goes with something else ---- */

static void qdisc_goes(const struct qdisc *key)
{
	_cleanup_object_ struct qdisc *q = object_ref(state_find(fake.world, key));
	uint32_t ids[2];

	if (!q)
		return;
	drop(q);
	ids[0] = q->ingress_block;
	ids[1] = q->egress_block;
	/* The last unbind empties the block, and Linux says nothing. */
	for (size_t i = 0; i < 2; i++)
		while (ids[i] && !bound(ids[i]) && fake_filters(ids[i]))
			drop(fake_filter(ids[i], 0));
}

static void device_goes(const char *dev)
{
	struct qdisc key = { .obj.kind = KIND_QDISC };
	char name[IFNAMSIZ];

	copy_name(name, sizeof(name), dev);
	copy_name(key.dev, sizeof(key.dev), name);
	qdisc_goes(&key);
	for (size_t i = state_count(fake.world, KIND_ADDRESS); i-- > 0;) {
		const struct address *a = state_at(fake.world, KIND_ADDRESS, i);

		if (streq(a->dev, name))
			drop(a);
	}
	for (size_t i = state_count(fake.world, KIND_VLAN); i-- > 0;) {
		_cleanup_object_ struct vlan *v = object_ref(state_at(fake.world, KIND_VLAN, i));

		if (streq(v->link, name)) {
			device_goes(v->name);
			emit(KERNEL_EVENT_GONE, v, false);
		}
	}
	drop(device(name));
}

/* ---- what others do ---- */

void fake_begin(enum bypass_ability ability)
{
	fake = (struct fake){ .world = state_new(), .ability = ability };
	next_ifindex = 2;
	queue_count = queue_read = 0;
}

void fake_end(void)
{
	for (; queue_read < queue_count; queue_read++)
		object_unref(queue[queue_read].object);
	state_free(fake.world);
	fake.world = NULL;
}

void fake_reset_counts(void)
{
	fake.requests = fake.refused = fake.log_count = 0;
}

void fake_add_port(const char *name, const char *lower, int offload)
{
	struct port *p = object_new(KIND_PORT, sizeof(*p));

	copy_name(p->name, sizeof(p->name), name);
	p->has = PORT_HAS_UP | PORT_HAS_MTU | (offload >= 0 ? PORT_HAS_TC_OFFLOAD : 0);
	p->mtu = 1500;
	p->tc_offload = offload > 0;
	p->facts.ifindex = next_ifindex++;
	p->facts.offload = (int8_t)offload;
	copy_name(p->facts.lower, sizeof(p->facts.lower), lower ? lower : "");
	put(p);
	emit(KERNEL_EVENT_NEW, p, false);
}

void fake_del_port(const char *name)
{
	_cleanup_object_ struct object *p = object_ref(device(name));

	device_goes(name);
	emit(KERNEL_EVENT_GONE, p, false);
}

static struct port *copy_port(const struct port *was)
{
	struct port *p = object_new(KIND_PORT, sizeof(*p));

	memcpy(p->name, was->name, sizeof(p->name));
	p->has = was->has;
	p->mtu = was->mtu;
	p->up = was->up;
	p->tc_offload = was->tc_offload;
	p->facts = was->facts;
	return p;
}

void fake_rename_port(const char *from, const char *to)
{
	struct port *p = copy_port(state_port(fake.world, from));
	struct qdisc key = { .obj.kind = KIND_QDISC };
	_cleanup_object_ struct qdisc *q = NULL;

	copy_name(key.dev, sizeof(key.dev), from);
	q = object_ref(state_find(fake.world, &key));
	if (q) {
		struct qdisc *moved = object_new(KIND_QDISC, sizeof(*moved));

		copy_name(moved->dev, sizeof(moved->dev), to);
		memcpy(moved->type, q->type, sizeof(moved->type));
		moved->ingress_block = q->ingress_block;
		put(moved);
		drop(q);
	}
	drop(device(from));
	copy_name(p->name, sizeof(p->name), to);
	put(p);
	emit(KERNEL_EVENT_RENAMED, p, false);
	copy_name(queue[queue_count - 1].old_name, IFNAMSIZ, from);
}

void fake_set_up(const char *name, bool up)
{
	struct port *p = copy_port(state_port(fake.world, name));

	p->up = up;
	put(p);
	emit(KERNEL_EVENT_NEW, p, false);
}

void fake_add_address(const char *dev, const char *text)
{
	struct address *a = object_new(KIND_ADDRESS, sizeof(*a));
	int family = 0;

	ip_prefix_parse(text, &family, a->addr, &a->prefix_len);
	a->family = (uint8_t)family;
	copy_name(a->dev, sizeof(a->dev), dev);
	put(a);
	emit(KERNEL_EVENT_NEW, a, false);
}

void fake_add_qdisc(const char *dev, const char *type, uint32_t ingress_block)
{
	struct qdisc *q = object_new(KIND_QDISC, sizeof(*q));

	copy_name(q->dev, sizeof(q->dev), dev);
	copy_name(q->type, sizeof(q->type), type);
	q->ingress_block = ingress_block;
	put(q);
	emit(KERNEL_EVENT_NEW, q, false);
}

void fake_del_qdisc(const char *dev)
{
	struct qdisc key = { .obj.kind = KIND_QDISC };
	_cleanup_object_ struct qdisc *q = NULL;

	copy_name(key.dev, sizeof(key.dev), dev);
	q = object_ref(state_find(fake.world, &key));
	qdisc_goes(&key);
	emit(KERNEL_EVENT_GONE, q, false);
}

void fake_add_filter(uint32_t block, uint16_t pref, const char *dst, uint32_t flags)
{
	struct action drop_it = { .kind = ACTION_DROP };
	struct match m = { 0 };
	struct filter *f;

	if (dst)
		field_parse("dst", dst, &m, NULL);
	f = filter_new(match_view(&m), &drop_it, 1);
	f->block = block;
	f->pref = pref;
	f->protocol = dst ? 0x0800 : ETHERTYPE_ALL;
	f->handle = 1;
	f->type = dst ? FILTER_FLOWER : FILTER_MATCHALL;
	f->flags = flags | (flags & TCA_CLS_FLAGS_SKIP_SW ? TCA_CLS_FLAGS_IN_HW : 0);
	f->owner = OWNER_FOREIGN;
	put(f);
	emit(KERNEL_EVENT_NEW, f, false);
}

void fake_add_object(struct filter *f)
{
	put(f);
	emit(KERNEL_EVENT_NEW, f, false);
}

void fake_del_handle(uint32_t block, uint16_t pref, uint32_t handle)
{
	for (size_t i = fake_filters(block); i-- > 0;)
		if (fake_filter(block, i)->pref == pref &&
		    fake_filter(block, i)->handle == handle)
			fake_del_filter(block, i);
}

void fake_del_filter(uint32_t block, size_t i)
{
	const struct filter *f = fake_filter(block, i);

	emit(KERNEL_EVENT_GONE, f, false);
	drop(f);
}

void fake_del_pref(uint32_t block, uint16_t pref)
{
	struct match none = { 0 };
	_cleanup_object_ struct filter *key = filter_new(match_view(&none), NULL, 0);

	key->block = block;
	key->pref = pref;
	for (size_t i = fake_filters(block); i-- > 0;) {
		const struct filter *f = fake_filter(block, i);

		if (f->pref != pref)
			continue;
		key->protocol = f->protocol;
		key->type = f->type;
		drop(f);
	}
	emit(KERNEL_EVENT_GONE, key, false);
}

/* ---- the text of the whole ---- */

static void line_of(const struct object *o, FILE *to)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	_cleanup_free_ char *text = NULL;
	size_t size;

	if (o->kind == KIND_PORT) {
		const struct port *p = (const struct port *)o;

		fprintf(to, "port %s up %u mtu %u offload %u\n", p->name, p->up, p->mtu,
			p->tc_offload);
		return;
	}
	if (o->kind == KIND_VLAN) {
		const struct vlan *v = (const struct vlan *)o;

		fprintf(to, "vlan %s link %s id %u up %u mtu %u\n", v->name, v->link, v->id, v->up,
			v->mtu);
		return;
	}
	kind_ops((enum kind)o->kind)->json(o, w);
	assert(jsonw_take(w, &text, &size) == 0);
	fprintf(to, "%s\n", text);
}

char *fake_text(void)
{
	static const enum kind kinds[] = { KIND_PORT, KIND_VLAN, KIND_ADDRESS, KIND_QDISC,
					   KIND_FILTER };
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (size_t i = 0; i < state_count(fake.world, kinds[k]); i++)
			line_of(state_at(fake.world, kinds[k], i), to);
	fclose(to);
	return text;
}

bool fake_logged(size_t i, const char *part)
{
	return i < fake.log_count && strstr(fake.log[i], part);
}

size_t fake_log_find(const char *part, size_t from)
{
	for (size_t i = from; i < fake.log_count; i++)
		if (strstr(fake.log[i], part))
			return i;
	return SIZE_MAX;
}

/* ---- kernel.h ---- */

int kernel_open(struct kernel **ret)
{
	*ret = (struct kernel *)&fake;
	return 0;
}

void kernel_close(struct kernel *k)
{
}

int kernel_dump(struct kernel *k, enum kind kind, uint32_t block, struct state *into)
{
	bool missed = false;

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

int kernel_get(struct kernel *k, const struct object *key, struct object **ret)
{
	const struct object *o;

	if (key->kind == KIND_PORT)
		o = device(((const struct port *)key)->name);
	else if (key->kind == KIND_VLAN)
		o = device(((const struct vlan *)key)->name);
	else
		o = state_find(fake.world, key);
	if (!o)
		return -ENOENT;
	*ret = object_ref(o);
	return 0;
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

	if (device(w->name))
		return -EEXIST;
	if (!device(w->link))
		return -ENODEV;
	v = object_new(KIND_VLAN, sizeof(*v));
	memcpy(v->name, w->name, sizeof(v->name));
	memcpy(v->link, w->link, sizeof(v->link));
	v->id = w->id;
	v->protocol = w->protocol;
	v->has = PORT_HAS_UP | PORT_HAS_MTU;
	v->up = w->has & PORT_HAS_UP ? w->up : 0;
	v->mtu = w->has & PORT_HAS_MTU ? w->mtu : 1500;
	v->facts.ifindex = next_ifindex++;
	v->facts.offload = -1;
	put(v);
	emit(KERNEL_EVENT_NEW, v, false); /* links do not tell who did it */
	return 0;
}

static int change_link(const struct object *wanted)
{
	const struct object *now = device(wanted->kind == KIND_PORT ?
						  ((const struct port *)wanted)->name :
						  ((const struct vlan *)wanted)->name);

	if (!now)
		return -ENODEV;
	if (now->kind == KIND_PORT) {
		const struct port *w = (const struct port *)wanted;
		struct port *p = copy_port((const struct port *)now);

		p->up = w->has & PORT_HAS_UP ? w->up : p->up;
		p->mtu = w->has & PORT_HAS_MTU ? w->mtu : p->mtu;
		p->tc_offload = w->has & PORT_HAS_TC_OFFLOAD ? w->tc_offload : p->tc_offload;
		put(p);
		emit(KERNEL_EVENT_NEW, p, false);
		return 0;
	}
	return -EOPNOTSUPP;
}

static int add_plain(const struct object *wanted)
{
	if (state_find(fake.world, wanted))
		return -EEXIST;
	if (wanted->kind == KIND_ADDRESS) {
		const struct address *w = (const struct address *)wanted;
		struct address *a;

		if (!device(w->dev))
			return -ENODEV;
		a = object_new(KIND_ADDRESS, sizeof(*a));
		memcpy(a->dev, w->dev, sizeof(a->dev));
		a->family = w->family;
		a->prefix_len = w->prefix_len;
		memcpy(a->addr, w->addr, sizeof(a->addr));
		put(a);
		emit(KERNEL_EVENT_NEW, a, true);
	} else {
		const struct qdisc *w = (const struct qdisc *)wanted;
		struct qdisc *q;

		if (!device(w->dev))
			return -ENODEV;
		q = object_new(KIND_QDISC, sizeof(*q));
		memcpy(q->dev, w->dev, sizeof(q->dev));
		memcpy(q->type, w->type, sizeof(q->type));
		q->ingress_block = w->ingress_block;
		q->egress_block = w->egress_block;
		put(q);
		emit(KERNEL_EVENT_NEW, q, true);
	}
	return 0;
}

/* What Linux refuses beside what is there. */
static int check_filter(const struct filter *w, const struct filter *same, enum kernel_op op)
{
	if (!bound(w->block))
		return -EINVAL;
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
			       match_compare(filter_match(w), filter_match(same)) == 0 ?
		       0 :
		       -EINVAL;
}

static int put_filter(struct kernel_request *req)
{
	const struct filter *w = (const struct filter *)req->wanted;
	const struct filter *same = state_find(fake.world, w);
	int r = check_filter(w, same, req->op);
	struct filter *f;

	if (r < 0)
		return r;
	f = filter_copy(w);
	object_unref(f->rule);
	f->rule = NULL;
	f->obj.origin = (struct origin){ 0 };
	f->role = FILTER_ROLE_RULE;
	f->owner = f->has_cookie && cookie_is_ours(f->cookie) ? OWNER_OURS : OWNER_FOREIGN;
	f->flags |= f->flags & TCA_CLS_FLAGS_SKIP_HW ? TCA_CLS_FLAGS_NOT_IN_HW :
						       TCA_CLS_FLAGS_IN_HW;
	put(f);
	emit(KERNEL_EVENT_NEW, f, true);
	req->echo = object_ref(f);
	return 0;
}

static int take_away(const struct object *key)
{
	_cleanup_object_ struct object *now = object_ref(state_find(fake.world, key));

	if (!now)
		return -ENOENT;
	if (now->kind == KIND_VLAN)
		device_goes(((const struct vlan *)now)->name);
	else if (now->kind == KIND_QDISC)
		qdisc_goes((const struct qdisc *)now);
	else
		drop(now);
	emit(KERNEL_EVENT_GONE, now, now->kind != KIND_VLAN);
	return 0;
}

static int carry_out(struct kernel_request *req)
{
	if (req->op == KERNEL_REMOVE)
		return take_away(req->found);
	if (req->wanted->kind == KIND_FILTER)
		return put_filter(req);
	if (req->op == KERNEL_CHANGE)
		return change_link(req->wanted);
	return req->wanted->kind == KIND_VLAN ? add_vlan((const struct vlan *)req->wanted) :
						add_plain(req->wanted);
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

int kernel_execute(struct kernel *k, struct kernel_request *list, size_t n)
{
	static const char signs[] = { '+', '~', '-' };

	for (size_t i = 0; i < n; i++) {
		struct kernel_request *req = &list[i];
		int r;

		fake.requests++;
		note(signs[req->op], req->wanted ? req->wanted : req->found);
		if (fake.requests == fake.unknown_not_at) {
			req->outcome = KERNEL_UNKNOWN;
			continue;
		}
		r = is_refused(req) ? -EOPNOTSUPP : carry_out(req);
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

int kernel_read_events(struct kernel *k, size_t most, kernel_event_fn fn, void *data, bool *ret_more)
{
	if (fake.lose_events) {
		struct kernel_event lost = { .type = KERNEL_EVENT_LOST };

		fake.lose_events = false;
		for (; queue_read < queue_count; queue_read++)
			object_unref(queue[queue_read].object);
		fn(&lost, data);
	}
	for (size_t i = 0; i < most && queue_read < queue_count; i++) {
		struct queued *q = &queue[queue_read++];
		struct kernel_event e = {
			.type = q->type,
			.object = q->object,
			.old_name = q->old_name,
			.own = q->own,
		};

		fn(&e, data);
		object_unref(q->object);
	}
	if (queue_read == queue_count)
		queue_read = queue_count = 0;
	if (ret_more)
		*ret_more = queue_read < queue_count;
	return 0;
}

int kernel_probe_bypass(enum bypass_ability *ret, const char **ret_how)
{
	*ret = fake.ability;
	*ret_how = "paper";
	return 0;
}

int kernel_read_bypass(struct kernel *k, uint32_t block, struct bypass_reading *ret)
{
	return -EOPNOTSUPP;
}
