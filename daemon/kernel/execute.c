// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The door, its changing half. Requests go out many in one send, in order; what must be known
 * before a later one can be written (the number of a device that an earlier one makes) ends a batch
 * early.
 */
#include <errno.h>
#include <linux/rtnetlink.h>

#include "config/base/fault.h"
#include "daemon/kernel/promote.h"
#include "daemon/kernel/readback.h"
#include "daemon/kernel/room.h"

struct batch {
	struct kernel *k;
	struct rtnl_call calls[RTNL_BATCH];
	size_t n, bytes;
};

static const struct object *subject(const struct kernel_request *r)
{
	return r->wanted ? r->wanted : r->found;
}

/* ---- answers ---- */

static void echo(struct rtnl_call *call, const struct nlmsghdr *h, void *data)
{
	struct kernel_request *r = call->data;
	const struct filter *wanted = (const struct filter *)r->wanted;
	_cleanup_object_ struct object *o = NULL;
	struct kernel *k = data;

	if (r->echo || r->op == KERNEL_REMOVE)
		return;
	if (wanted->obj.kind == KIND_FILTER && mould_read(k->moulds, wanted, h, &r->echo))
		return;
	if (kernel_parse(k, h, &o) < 0 || !o)
		return;
	/* Of a new matchall Linux tells the pref alone: see events.c. */
	if (o->kind == KIND_FILTER && ((struct filter *)o)->handle == 0)
		return;
	if (o->kind == KIND_FILTER && wanted->obj.kind == KIND_FILTER)
		mould_was_read(k->moulds, wanted, h, (struct filter *)o);
	r->echo = take(o);
}

/* The kernel may have had no room for the echo, or nothing to say in it; then it is asked. */
static void complete_echo(struct kernel *k, struct kernel_request *r)
{
	bool wanted =
		r->wanted && (r->wanted->kind == KIND_FILTER || r->wanted->kind == KIND_QDISC);

	if (wanted && !r->echo && r->op != KERNEL_REMOVE)
		kernel_get(k, r->wanted, &r->echo);
}

/* True if a refused removal only says that there was nothing left to remove. */
static bool was_gone(struct kernel *k, const struct kernel_request *r)
{
	_cleanup_object_ struct object *there = NULL;

	switch (r->error) {
	case -ENOENT:
	case -ENODEV:
	case -EADDRNOTAVAIL:
		return true;
	case -EINVAL: /* of many meanings, "no such block" among them */
		return kernel_get(k, r->found, &there) == -ENOENT;
	}
	return false;
}

static void settle_call(struct kernel *k, struct rtnl_call *call)
{
	struct kernel_request *r = call->data;

	kernel_message_done(k, call->msg);
	r->error = call->error;
	r->words = call->words;
	if (!call->sent) {
		r->outcome = KERNEL_NOT_SENT;
	} else if (!call->answered) {
		r->outcome = KERNEL_UNKNOWN;
		r->error = -ETIMEDOUT;
	} else if (call->error == 0) {
		r->outcome = KERNEL_DONE;
		complete_echo(k, r);
	} else {
		r->outcome = KERNEL_REFUSED;
		if (r->op == KERNEL_REMOVE && was_gone(k, r)) {
			r->outcome = KERNEL_DONE;
			r->error = -ENOENT;
		}
	}
}

static void doubt_devices(struct kernel *k)
{
	devices_doubt(k->devices);
	moulds_doubt_devices(k->moulds);
}

static int batch_send(struct batch *b)
{
	int r = rtnl_exchange(b->k->request, b->calls, b->n, echo, b->k);

	for (size_t i = 0; i < b->n; i++)
		settle_call(b->k, &b->calls[i]);
	/* A device may be there now that was not, or have another number. */
	doubt_devices(b->k);
	b->n = 0;
	b->bytes = 0;
	return r;
}

/* ---- requests ---- */

struct put_of {
	const struct codec *codec;
	const struct kernel_request *r;
	struct kernel *k;
};

static int put_request(struct nl_msg *m, void *data)
{
	const struct put_of *p = data;
	const struct kernel_request *r = p->r;
	const struct filter *wanted = (const struct filter *)r->wanted;
	bool moulded = r->op != KERNEL_REMOVE && wanted->obj.kind == KIND_FILTER;
	int e;

	if (moulded && mould_write(p->k->moulds, r->op, wanted, m))
		return 0;
	e = p->codec->put(m, r->op, r->wanted, r->found, &p->k->names);
	if (moulded && e == 0)
		mould_wrote(p->k->moulds, r->op, wanted, nlmsg_hdr(m));
	return e;
}

static bool wants_offload(const struct kernel_request *r)
{
	const struct port *w = (const struct port *)r->wanted;
	const struct port *f = (const struct port *)r->found;

	if (r->op != KERNEL_CHANGE || !w || w->obj.kind != KIND_PORT ||
	    !(w->has & PORT_HAS_TC_OFFLOAD))
		return false;
	return !f || !(f->has & PORT_HAS_TC_OFFLOAD) || f->tc_offload != w->tc_offload;
}

/* False: the request is over. */
static bool set_offload(struct batch *b, struct kernel_request *r)
{
	const struct port *w = (const struct port *)r->wanted;

	r->error = facts_set_offload(b->k->facts, w->name, w->tc_offload != 0);
	r->outcome = r->error < 0 ? KERNEL_REFUSED : KERNEL_DONE;
	return r->error == 0;
}

static bool complete(const struct kernel_request *r)
{
	switch (r->op) {
	case KERNEL_ADD:
	case KERNEL_CHANGE:
		return r->wanted != NULL;
	case KERNEL_REMOVE:
		return r->found != NULL;
	}
	return false;
}

/* By another socket: what is in front of it has been carried out when it is set. */
static int put_tx(struct batch *b, struct kernel_request *r)
{
	int failed = batch_send(b);

	if (failed < 0)
		return failed;
	if (r->op != KERNEL_CHANGE) {
		r->error = -EOPNOTSUPP;
		return 0;
	}
	r->error = tx_set(b->k->tx, (const struct tx *)r->wanted, (const struct tx *)r->found,
			  &r->words);
	r->outcome = r->error == 0	      ? KERNEL_DONE
		     : r->error == -ETIMEDOUT ? KERNEL_UNKNOWN
					      : KERNEL_REFUSED;
	return 0;
}

static int batch_put(struct batch *b, struct kernel_request *r)
{
	struct put_of put = { NULL, r, b->k };
	struct nl_msg *m = NULL;
	size_t size;
	int failed = 0, e;

	r->outcome = KERNEL_NOT_SENT;
	r->error = -EINVAL;
	if (!complete(r))
		return 0;
	if (subject(r)->kind == KIND_TX)
		return put_tx(b, r);
	r->error = -EOPNOTSUPP;
	put.codec = codec_of((enum kind)subject(r)->kind);
	if (!put.codec)
		return 0;
	if (wants_offload(r)) {
		failed = batch_send(b);
		if (failed < 0 || !set_offload(b, r))
			return failed;
	}
	e = kernel_message(b->k, put_request, &put, &m);
	if (e == -ENODEV && b->n > 0) {
		failed = batch_send(b);
		e = kernel_message(b->k, put_request, &put, &m);
	}
	r->error = e == -ENODATA ? 0 : e;
	if (e == -ENODATA)
		r->outcome = KERNEL_DONE;
	else if (e == -ENODEV && r->op == KERNEL_REMOVE) {
		/* What hung on a device that is gone is gone with it. */
		r->outcome = KERNEL_DONE;
		r->error = -ENOENT;
	}
	if (e < 0)
		return failed;
	size = nlmsg_hdr(m)->nlmsg_len;
	if (failed == 0 && b->n > 0 && b->bytes + size > RTNL_BATCH_BYTES)
		failed = batch_send(b);
	b->calls[b->n++] = (struct rtnl_call){ .msg = m, .data = r };
	b->bytes += size;
	if (failed == 0 && b->n >= b->k->request->batch)
		failed = batch_send(b);
	return failed;
}

/* What is in front of it has been carried out when it happens. */
static int batch_fault(struct batch *b, struct kernel_request *r, enum fault_how how)
{
	int failed = batch_send(b);

	if (how == FAULT_KILL)
		fault_kill();
	if (how == FAULT_LOST_ANSWER && failed == 0) {
		failed = batch_put(b, r);
		if (failed == 0)
			failed = batch_send(b);
		kernel_request_clear(r);
	}
	r->outcome = how == FAULT_FAIL ? KERNEL_REFUSED : KERNEL_UNKNOWN;
	r->error = how == FAULT_FAIL ? fault_error() : -ETIMEDOUT;
	return failed;
}

/* Alone between two messages of promote.h, if it needs them. */
static int batch_take_address(struct batch *b, struct kernel_request *r)
{
	const struct address *a = (const struct address *)r->found;
	bool promoted;
	uint32_t index;
	int failed;

	if (!promote_needed(a))
		return batch_put(b, r);
	failed = batch_send(b);
	if (failed < 0)
		return failed;
	index = b->k->names.index(a->dev, b->k->names.data);
	promoted = index && promote_set(b->k->request, index, true) == 0;
	failed = batch_put(b, r);
	if (failed == 0)
		failed = batch_send(b);
	if (promoted)
		promote_set(b->k->request, index, false);
	return failed;
}

static int batch_add(struct batch *b, struct kernel_request *r)
{
	enum fault_how how = fault_at(FAULT_REQUEST);

	if (how != FAULT_NONE)
		return batch_fault(b, r, how);
	return r->op == KERNEL_REMOVE && r->found && r->found->kind == KIND_ADDRESS
		       ? batch_take_address(b, r)
		       : batch_put(b, r);
}

static int execute(struct kernel *k, struct kernel_request *list, size_t n)
{
	struct batch b = { .k = k };
	size_t looked = 0;
	int r = 0;

	doubt_devices(k);
	for (size_t i = 0; i < n; i++) {
		kernel_request_clear(&list[i]);
		list[i].outcome = KERNEL_NOT_SENT;
		list[i].error = -ECANCELED;
	}
	for (size_t i = 0; r == 0 && i < n; i++) {
		/* Not all at once: the look is to be close to the request. */
		if (i >= looked && readback_needed(&list[i])) {
			looked = MIN(n, i + RTNL_BATCH);
			r = readback(k, &list[i], looked - i);
		}
		if (r == 0 && readback_passed(&list[i]))
			r = batch_add(&b, &list[i]);
	}
	if (r < 0) {
		/* The socket failed: what is left in the batch does not go out. */
		for (size_t i = 0; i < b.n; i++)
			settle_call(k, &b.calls[i]);
		return r;
	}
	return batch_send(&b);
}

int kernel_execute(struct kernel *k, struct kernel_request *list, size_t n)
{
	int r = execute(k, list, n);

	for (size_t i = 0; i < n; i++)
		k->refused += list[i].outcome == KERNEL_REFUSED;
	return r;
}

void kernel_request_clear(struct kernel_request *r)
{
	free(take(r->words));
	object_unref(take(r->echo));
}
