// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_world.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/base/netaddr.h"
#include "daemon/kernel/cookie.h"

struct fake fake;

static struct queued queue[65536];
static size_t queue_count, queue_read;
static uint32_t next_ifindex;

/* ---- small things ---- */

uint32_t world_ifindex(void)
{
	return next_ifindex++;
}

bool world_next_event(struct queued *ret)
{
	if (queue_read == queue_count) {
		queue_read = queue_count = 0;
		return false;
	}
	*ret = queue[queue_read++];
	return true;
}

void world_emit(enum kernel_event_type type, const void *object, bool own)
{
	assert(queue_count < 65536);
	queue[queue_count++] = (struct queued){ type, object_ref(object), "", own };
}

void world_put(void *object)
{
	int r = state_put(fake.world, object);

	assert(r == 0);
}

void world_drop(const void *object)
{
	_cleanup_object_ struct object *held = object_ref(object);

	state_remove(fake.world, held);
}

void world_note(char sign, const struct object *o)
{
	char label[OBJECT_LABEL];

	if (fake.log_count == 512)
		return;
	object_label(o, label);
	snprintf(fake.log[fake.log_count++], 160, "%c %.150s", sign, label);
}

const struct object *world_device(const char *name)
{
	const struct port *p = state_port(fake.world, name);
	const struct vlan *v = state_vlan(fake.world, name);

	return p ? &p->obj : v ? &v->obj : NULL;
}

/* Linux has one VLAN device for a link, a protocol and an id. */
bool world_vlan_on(const struct vlan *w)
{
	for (size_t i = 0; i < state_count(fake.world, KIND_VLAN); i++) {
		const struct vlan *v = state_at(fake.world, KIND_VLAN, i);

		if (streq(v->link, w->link) && v->id == w->id && v->protocol == w->protocol)
			return true;
	}
	return false;
}

void world_change_vlan(const struct vlan *now, const struct vlan *wanted)
{
	struct vlan *v = object_new(KIND_VLAN, sizeof(*v));
	struct object head = v->obj;

	*v = *now;
	v->obj = head;
	v->up = wanted->has & PORT_HAS_UP ? wanted->up : v->up;
	v->mtu = wanted->has & PORT_HAS_MTU ? wanted->mtu : v->mtu;
	world_put(v);
	world_emit(KERNEL_EVENT_NEW, v, false);
}

static bool binds(const struct qdisc *q, uint32_t block)
{
	return q->ingress_block == block || q->egress_block == block;
}

bool world_bound(uint32_t block)
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

void world_qdisc_goes(const struct qdisc *key)
{
	_cleanup_object_ struct qdisc *q = object_ref(state_find(fake.world, key));
	uint32_t ids[2];

	if (!q)
		return;
	world_drop(q);
	ids[0] = q->ingress_block;
	ids[1] = q->egress_block;
	/* The last unbind empties the block, and Linux says nothing. */
	for (size_t i = 0; i < 2; i++)
		while (ids[i] && !world_bound(ids[i]) && fake_filters(ids[i]))
			world_drop(fake_filter(ids[i], 0));
}

void world_device_goes(const char *dev)
{
	struct qdisc key = { .obj.kind = KIND_QDISC };
	char name[IFNAMSIZ];

	copy_name(name, sizeof(name), dev);
	copy_name(key.dev, sizeof(key.dev), name);
	world_qdisc_goes(&key);
	for (size_t i = state_count(fake.world, KIND_ADDRESS); i-- > 0;) {
		_cleanup_object_ struct address *a =
			object_ref(state_at(fake.world, KIND_ADDRESS, i));

		if (!streq(a->dev, name))
			continue;
		world_drop(a);
		world_emit(KERNEL_EVENT_GONE, a, false);
	}
	for (size_t i = state_count(fake.world, KIND_VLAN); i-- > 0;) {
		_cleanup_object_ struct vlan *v = object_ref(state_at(fake.world, KIND_VLAN, i));

		if (streq(v->link, name)) {
			world_device_goes(v->name);
			world_emit(KERNEL_EVENT_GONE, v, false);
			i = state_count(fake.world, KIND_VLAN); /* more may have gone */
		}
	}
	for (size_t i = state_count(fake.world, KIND_TX); i-- > 0;) {
		const struct tx *t = state_at(fake.world, KIND_TX, i);

		if (streq(t->dev, name))
			world_drop(t);
	}
	world_drop(world_device(name));
}

/* ---- what others do ---- */

void fake_begin(enum bypass_ability ability)
{
	fake = (struct fake){ .world = state_new(), .ability = ability };
	next_ifindex = 2;
	queue_count = queue_read = 0;
}

void fake_forget_events(void)
{
	for (; queue_read < queue_count; queue_read++)
		object_unref(queue[queue_read].object);
}

void fake_end(void)
{
	kernel_walk_end(NULL);
	for (; queue_read < queue_count; queue_read++)
		object_unref(queue[queue_read].object);
	state_free(fake.world);
	fake.world = NULL;
}

void fake_reset_counts(void)
{
	fake.requests = fake.refused = fake.log_count = fake.parts = 0;
	fake.looks = fake.looks_before = 0;
}

void fake_add_port(const char *name, const char *lower, int offload)
{
	struct port *p = object_new(KIND_PORT, sizeof(*p));

	copy_name(p->name, sizeof(p->name), name);
	p->has = PORT_HAS_UP | PORT_HAS_MTU | (offload >= 0 ? PORT_HAS_TC_OFFLOAD : 0);
	p->mtu = 1500;
	p->tc_offload = offload > 0;
	p->facts.ifindex = world_ifindex();
	p->facts.offload = (int8_t)offload;
	copy_name(p->facts.lower, sizeof(p->facts.lower), lower ? lower : "");
	world_put(p);
	world_emit(KERNEL_EVENT_NEW, p, false);
}

void fake_del_port(const char *name)
{
	_cleanup_object_ struct object *p = object_ref(world_device(name));

	world_emit(KERNEL_EVENT_NEW, p, false); /* that it is down */
	world_device_goes(name);
	world_emit(KERNEL_EVENT_GONE, p, false);
}

struct port *world_copy_port(const struct port *was)
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

void world_change_tx(const struct tx *now, const struct tx *wanted)
{
	struct tx *t = tx_only(now, 0xff);

	t->most = now->most;
	for (unsigned int i = 0; i < TX_VALUES; i++) {
		if (!(wanted->has & 1u << i))
			continue;
		t->value[i] = tx_value(wanted, i, 0);
		for (uint32_t q = 0; q < t->queues; q++)
			t->queue[q][i] = tx_value(wanted, i, q);
	}
	world_put(t);
	/* sysfs tells no news. */
	if (t->part == TX_RING || t->part == TX_COALESCE)
		world_emit(KERNEL_EVENT_NEW, t, false);
}

void fake_add_tx(const char *dev, enum tx_part part, uint32_t queues, uint8_t has, uint32_t value,
		 uint32_t most)
{
	struct tx *t = tx_new(dev, part, queues);

	t->has = has;
	t->most = most;
	for (unsigned int i = 0; i < TX_VALUES; i++)
		t->value[i] = has & 1u << i ? value : 0;
	for (uint32_t q = 0; q < queues; q++)
		t->queue[q][0] = t->queue[q][1] = value;
	world_put(t);
}

void fake_set_tx(const char *dev, enum tx_part part, unsigned int i, uint32_t value)
{
	_cleanup_object_ struct tx *wanted = tx_new(dev, part, 0);

	wanted->has = (uint8_t)(1u << i);
	wanted->value[i] = value;
	world_change_tx(tx_find(fake.world, dev, part), wanted);
}

void fake_rename_port(const char *from, const char *to)
{
	struct port *p = world_copy_port(state_port(fake.world, from));
	struct qdisc key = { .obj.kind = KIND_QDISC };
	_cleanup_object_ struct qdisc *q = NULL;

	copy_name(key.dev, sizeof(key.dev), from);
	q = object_ref(state_find(fake.world, &key));
	if (q) {
		struct qdisc *moved = object_new(KIND_QDISC, sizeof(*moved));

		copy_name(moved->dev, sizeof(moved->dev), to);
		memcpy(moved->type, q->type, sizeof(moved->type));
		moved->ingress_block = q->ingress_block;
		world_put(moved);
		world_drop(q);
	}
	world_drop(world_device(from));
	copy_name(p->name, sizeof(p->name), to);
	world_put(p);
	world_emit(KERNEL_EVENT_RENAMED, p, false);
	copy_name(queue[queue_count - 1].old_name, IFNAMSIZ, from);
}

void fake_set_up(const char *name, bool up)
{
	struct port *p = world_copy_port(state_port(fake.world, name));

	p->up = up;
	world_put(p);
	world_emit(KERNEL_EVENT_NEW, p, false);
}

void fake_add_address(const char *dev, const char *text)
{
	struct address *a = object_new(KIND_ADDRESS, sizeof(*a));
	int family = 0;

	ip_prefix_parse(text, &family, a->addr, &a->prefix_len);
	a->family = (uint8_t)family;
	copy_name(a->dev, sizeof(a->dev), dev);
	world_put(a);
	world_emit(KERNEL_EVENT_NEW, a, false);
}

void fake_add_qdisc(const char *dev, const char *type, uint32_t ingress_block)
{
	struct qdisc *q = object_new(KIND_QDISC, sizeof(*q));

	copy_name(q->dev, sizeof(q->dev), dev);
	copy_name(q->type, sizeof(q->type), type);
	q->ingress_block = ingress_block;
	world_put(q);
	world_emit(KERNEL_EVENT_NEW, q, false);
}

void fake_del_qdisc(const char *dev)
{
	struct qdisc key = { .obj.kind = KIND_QDISC };
	_cleanup_object_ struct qdisc *q = NULL;

	copy_name(key.dev, sizeof(key.dev), dev);
	q = object_ref(state_find(fake.world, &key));
	world_qdisc_goes(&key);
	world_emit(KERNEL_EVENT_GONE, q, false);
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
	world_put(f);
	world_emit(KERNEL_EVENT_NEW, f, false);
}

void fake_add_object(struct filter *f)
{
	world_put(f);
	world_emit(KERNEL_EVENT_NEW, f, false);
}

void fake_del_handle(uint32_t block, uint16_t pref, uint32_t handle)
{
	for (size_t i = fake_filters(block); i-- > 0;)
		if (fake_filter(block, i)->pref == pref && fake_filter(block, i)->handle == handle)
			fake_del_filter(block, i);
}

void fake_del_filter(uint32_t block, size_t i)
{
	const struct filter *f = fake_filter(block, i);

	world_emit(KERNEL_EVENT_GONE, f, false);
	world_drop(f);
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
		world_drop(f);
	}
	world_emit(KERNEL_EVENT_GONE, key, false);
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
	static const enum kind kinds[] = { KIND_PORT,	 KIND_TX,    KIND_VLAN,
					   KIND_ADDRESS, KIND_QDISC, KIND_FILTER };
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
