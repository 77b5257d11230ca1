// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shows what daemon/kernel/ does on the kernel it runs on; tests/lab/test_kernel_room.py drives it
 * and lets tc and ip judge. Each command prints one JSON object, or lines of "ok" and "FAIL", and
 * exits 0 or 1.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include "config/base/jsonw.h"
#include "daemon/kernel/cookie.h"
#include "daemon/kernel/kernel.h"
#include "filter_text.h"

static int fails;

static void check(bool ok, const char *what, const char *about, int error)
{
	if (ok)
		return;
	printf("FAIL %s: %s (%s)\n", what, about, strerror(error < 0 ? -error : error));
	fails++;
}

static const char *label(const void *o)
{
	static char text[OBJECT_LABEL];

	object_label(o, text);
	return text;
}

static void print_json(const struct object *o)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	_cleanup_free_ char *text = NULL;
	size_t size;

	kind_ops((enum kind)o->kind)->json(o, w);
	if (jsonw_take(w, &text, &size) == 0)
		printf("%s\n", text);
}

/* ---- probe ---- */

static int cmd_probe(void)
{
	static const char *const names[] = { "unknown", "none", "marks", "readback" };
	enum bypass_ability ability;
	const char *how;
	uint64_t start = now_monotonic_ns();
	int r = kernel_probe_bypass(&ability, &how);

	printf("{\"result\": %d, \"ability\": \"%s\", \"how\": \"%s\", \"ms\": %u}\n", r,
	       names[ability], how, (unsigned int)((now_monotonic_ns() - start) / 1000000));
	return 0;
}

/* ---- dump ---- */

static int cmd_dump(struct kernel *k, const char *kind, uint32_t block)
{
	_cleanup_(state_freep) struct state *s = state_new();
	int r = -EINVAL;

	for (int i = 0; i < KIND_COUNT_; i++) {
		if (!streq(kind_ops((enum kind)i)->name, kind))
			continue;
		r = kernel_dump(k, (enum kind)i, block, s);
		for (size_t n = 0; n < state_count(s, (enum kind)i); n++)
			print_json(state_at(s, (enum kind)i, n));
	}
	if (r < 0)
		printf("FAIL dump: %s\n", strerror(-r));
	return r < 0;
}

/* ---- filters: every field and action ---- */

static struct sample *samples;
static size_t sample_count;
static struct kernel_request requests[SAMPLES_MOST];

/* Requests for all samples, in block `block`. */
static void make_requests(uint32_t block, enum kernel_op op)
{
	for (size_t i = 0; i < sample_count; i++) {
		struct filter *f = samples[i].filter;

		f->block = block;
		kernel_request_clear(&requests[i]);
		requests[i] = (struct kernel_request){
			.op = op,
			.wanted = op == KERNEL_REMOVE ? NULL : &f->obj,
			.found = op == KERNEL_REMOVE ? &f->obj : NULL,
		};
	}
}

static void judge(const struct kernel_request *r, const struct object *found, const char *what)
{
	const struct filter *w = (const struct filter *)r->wanted,
			    *f = (const struct filter *)found;

	if (!found || found->kind != KIND_FILTER) {
		check(false, what, label(r->wanted), ENOENT);
		return;
	}
	check(kind_ops(KIND_FILTER)->compare(r->wanted, found) == 0, what, "another key", EILSEQ);
	if (!kind_ops(KIND_FILTER)->satisfied(r->wanted, found)) {
		check(false, what, label(r->wanted), EILSEQ);
		print_json(r->wanted);
		print_json(found);
	}
	check(f->owner == OWNER_OURS && w->has_cookie, what, "not ours", EILSEQ);
}

static int cmd_filters(struct kernel *k, uint32_t block, enum kernel_op op)
{
	_cleanup_(state_freep) struct state *s = state_new();
	struct kernel_request *list = requests;
	struct kernel_counts before, after;
	size_t n = sample_count;
	int r;

	make_requests(block, op);

	kernel_counts(k, &before);
	r = kernel_execute(k, list, n);
	kernel_counts(k, &after);
	check(r == 0, "execute", "all", r);
	printf("{\"filters\": %zu, \"sends\": %u}\n", n,
	       (unsigned int)(after.sends - before.sends));
	r = kernel_dump(k, KIND_FILTER, block, s);
	check(r == 0, "dump", "all", r);
	for (size_t i = 0; i < n; i++) {
		_cleanup_object_ struct object *one = NULL;

		check(list[i].outcome == KERNEL_DONE, "add", label(list[i].wanted), list[i].error);
		if (list[i].outcome != KERNEL_DONE) {
			printf("     %s\n", list[i].words ? list[i].words : "(no words)");
			continue;
		}
		judge(&list[i], list[i].echo, "echo");
		judge(&list[i], state_find(s, list[i].wanted), "dump");
		r = kernel_get(k, list[i].wanted, &one);
		check(r == 0, "get", label(list[i].wanted), r);
		if (r == 0)
			judge(&list[i], one, "get");
	}
	check(state_count(s, KIND_FILTER) == n, "dump", "as many as were added", EILSEQ);
	return 0;
}

/* Removes what cmd_filters added, twice: the second time it is gone. */
static int cmd_remove(struct kernel *k, uint32_t block)
{
	_cleanup_(state_freep) struct state *s = state_new();
	struct kernel_request *list = requests;

	for (int round = 0; round < 2; round++) {
		make_requests(block, KERNEL_REMOVE);
		check(kernel_execute(k, list, sample_count) == 0, "execute", "remove", EIO);
		for (size_t i = 0; i < sample_count; i++)
			check(list[i].outcome == KERNEL_DONE &&
				      list[i].error == (round ? -ENOENT : 0),
			      "remove", label(list[i].found), list[i].error);
	}
	check(kernel_dump(k, KIND_FILTER, block, s) == 0, "dump", "after", EIO);
	check(state_count(s, KIND_FILTER) == 0, "dump", "nothing is left", EILSEQ);
	return 0;
}

/* Ours is seen, another swd puts its own in that place, and we act on what we saw. */
static int cmd_swapped(struct kernel *k, uint32_t block)
{
	static const char text[] = "filter block 1 pref 100 protocol ip handle 1 flower\n"
				   "match dst 192.0.2.1\naction drop\n";
	_cleanup_object_ struct filter *ours = filter_text_parse(text);
	_cleanup_object_ struct filter *theirs = filter_text_parse(text);
	struct kernel_request list[2] = { { .op = KERNEL_ADD, .wanted = &ours->obj } };
	_cleanup_object_ struct object *seen = NULL;

	ours->block = theirs->block = block;
	ours->has_cookie = theirs->has_cookie = 1;
	cookie_make(ours, 1, ours->cookie);
	cookie_make(theirs, 2, theirs->cookie);
	check(kernel_execute(k, list, 1) == 0 && list[0].outcome == KERNEL_DONE, "add", "ours",
	      list[0].error);
	seen = take(list[0].echo);
	list[0] = (struct kernel_request){ .op = KERNEL_REMOVE, .found = seen };
	list[1] = (struct kernel_request){ .op = KERNEL_ADD, .wanted = &theirs->obj };
	check(kernel_execute(k, list, 2) == 0 && list[1].outcome == KERNEL_DONE, "swap", "theirs",
	      list[1].error);
	kernel_request_clear(&list[1]);
	list[0] =
		(struct kernel_request){ .op = KERNEL_CHANGE, .wanted = &ours->obj, .found = seen };
	list[1] = (struct kernel_request){ .op = KERNEL_REMOVE, .found = seen };
	check(kernel_execute(k, list, 2) == 0, "execute", "both", EIO);
	for (int i = 0; i < 2; i++) {
		printf("{\"outcome\": %d, \"error\": %d}\n", list[i].outcome, list[i].error);
		check(list[i].echo && ((struct filter *)list[i].echo)->owner == OWNER_FOREIGN,
		      "told", "what is there instead", ENOENT);
		kernel_request_clear(&list[i]);
	}
	return 0;
}

/* ---- events ---- */

static void event_line(const struct kernel_event *e, void *data)
{
	static const char *const names[] = { "new", "gone", "renamed", "lost", "bypass" };
	char text[OBJECT_LABEL] = "";

	if (e->object)
		object_label(e->object, text);
	if (e->reading)
		snprintf(text, sizeof(text), "block %u bypassed %u", e->reading->block,
			 e->reading->bypassed);
	printf("%s%s %s%s%s\n", names[e->type], e->own ? " own" : "", text,
	       e->old_name ? " was " : "", e->old_name ? e->old_name : "");
	*(uint64_t *)data = now_monotonic_ns();
}

/* Prints a line for each event until there was none for quiet_ms. */
static void read_events(struct kernel *k, int quiet_ms, uint64_t *last)
{
	int fds[KERNEL_EVENT_FDS];
	size_t n = kernel_event_fds(k, fds);
	struct pollfd p[KERNEL_EVENT_FDS];

	for (;;) {
		bool more = true;

		for (size_t i = 0; i < n; i++)
			p[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
		if (poll(p, n, quiet_ms) <= 0)
			return;
		while (more)
			check(kernel_read_events(k, 64, event_line, last, &more) == 0, "events",
			      "read", EIO);
	}
}

static int cmd_events(struct kernel *k, const char *command, int rcvbuf)
{
	uint64_t start, last = 0;
	int fds[KERNEL_EVENT_FDS];

	kernel_event_fds(k, fds);
	/* A buffer that a few events fill: what comes then is lost, and must be said to be. */
	if (rcvbuf > 0)
		setsockopt(fds[0], SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	read_events(k, 50, &last);
	printf("--\n");
	fflush(stdout);
	start = now_monotonic_ns();
	check(system(command) == 0, "events", command, EIO);
	read_events(k, 300, &last);
	printf("-- %u us\n", last > start ? (unsigned int)((last - start) / 1000) : 0);
	return 0;
}

/* From the answer of our own add to its event: what the room adds to the kernel's time. */
static int cmd_latency(struct kernel *k, uint32_t block)
{
	uint64_t worst = 0, last = 0;

	read_events(k, 50, &last);
	printf("--\n");
	for (uint32_t i = 0; i < 20; i++) {
		char text[256];
		_cleanup_object_ struct filter *f = NULL;
		struct kernel_request r;
		uint64_t start;

		snprintf(text, sizeof(text),
			 "filter block %u pref 100 protocol ip handle %u flower\n"
			 "match dst 192.0.2.%u\naction drop\n",
			 block, i + 1, i + 1);
		f = filter_text_parse(text);
		r = (struct kernel_request){ .op = KERNEL_ADD, .wanted = &f->obj };
		start = now_monotonic_ns();
		check(kernel_execute(k, &r, 1) == 0 && r.outcome == KERNEL_DONE, "add", "latency",
		      r.error);
		last = 0;
		kernel_read_events(k, 64, event_line, &last, NULL);
		check(last != 0, "event", "is there when the answer is", ENOENT);
		worst = MAX(worst, last - start);
		kernel_request_clear(&r);
	}
	printf("{\"worst_us\": %u}\n", (unsigned int)(worst / 1000));
	return 0;
}

/* ---- qdiscs, links, addresses ---- */

static int one(struct kernel *k, enum kernel_op op, const void *wanted, const void *found)
{
	struct kernel_request r = { .op = op, .wanted = wanted, .found = found };
	int e = kernel_execute(k, &r, 1);

	printf("{\"outcome\": %d, \"error\": %d, \"words\": \"%s\"}\n", r.outcome, r.error,
	       r.words ? r.words : "");
	kernel_request_clear(&r);
	return e;
}

static int cmd_bind(struct kernel *k, enum kernel_op op, const char *dev, uint32_t block)
{
	_cleanup_object_ struct qdisc *q = object_new(KIND_QDISC, sizeof(*q));

	COPY_NAME(q->dev, dev);
	COPY_NAME(q->type, "clsact");
	q->ingress_block = block;
	return one(k, op, op == KERNEL_ADD ? q : NULL, op == KERNEL_ADD ? NULL : q);
}

static int cmd_port(struct kernel *k, const char *dev, int up, uint32_t mtu, int offload)
{
	_cleanup_object_ struct port *p = object_new(KIND_PORT, sizeof(*p));

	COPY_NAME(p->name, dev);
	p->has = PORT_HAS_UP | (mtu ? PORT_HAS_MTU : 0) | (offload >= 0 ? PORT_HAS_TC_OFFLOAD : 0);
	p->up = (uint8_t)up;
	p->mtu = mtu;
	p->tc_offload = offload > 0;
	return one(k, KERNEL_CHANGE, p, NULL);
}

/* One filter in words, "\n" written as ";". */
static int cmd_add(struct kernel *k, char *words)
{
	_cleanup_object_ struct filter *f = NULL;
	struct kernel_request r;

	for (char *s = words; *s; s++)
		if (*s == ';')
			*s = '\n';
	f = filter_text_parse(words);
	if (!f)
		return 2;
	r = (struct kernel_request){ .op = KERNEL_ADD, .wanted = &f->obj };
	check(kernel_execute(k, &r, 1) == 0, "execute", words, EIO);
	printf("{\"outcome\": %d, \"error\": %d, \"words\": \"%s\"}\n", r.outcome, r.error,
	       r.words ? r.words : "");
	if (r.echo)
		print_json(r.echo);
	kernel_request_clear(&r);
	return 0;
}

static int cmd_bypass(struct kernel *k, uint32_t block)
{
	struct bypass_reading b = { 0 };
	int r = kernel_read_bypass(k, block, &b);

	printf("{\"result\": %d, \"block\": %u, \"members\": %u, \"filters\": %u, \"sw\": %u, "
	       "\"dead\": %u, \"bypassed\": %u}\n",
	       r, b.block, b.members, b.filters, b.filters_sw, b.filters_dead, b.bypassed);
	return 0;
}

/* A VLAN and its address in one execute: the second needs the number the first one gets. */
static int cmd_leg(struct kernel *k, const char *link, const char *name, uint16_t id)
{
	_cleanup_object_ struct vlan *v = object_new(KIND_VLAN, sizeof(*v));
	_cleanup_object_ struct address *a = object_new(KIND_ADDRESS, sizeof(*a));
	struct kernel_request list[2] = { { .op = KERNEL_ADD, .wanted = &v->obj },
					  { .op = KERNEL_ADD, .wanted = &a->obj } };

	COPY_NAME(v->name, name);
	COPY_NAME(v->link, link);
	v->id = id;
	v->protocol = 0x8100;
	v->has = PORT_HAS_UP;
	v->up = 1;
	COPY_NAME(a->dev, name);
	a->family = 4;
	a->prefix_len = 31;
	memcpy(a->addr, (const uint8_t[]){ 192, 0, 2, 1 }, 4);
	check(kernel_execute(k, list, 2) == 0, "execute", "leg", EIO);
	for (int i = 0; i < 2; i++)
		check(list[i].outcome == KERNEL_DONE, "add", label(list[i].wanted), list[i].error);
	list[0] = (struct kernel_request){ .op = KERNEL_REMOVE, .found = &v->obj };
	if (getenv("REMOVE"))
		check(kernel_execute(k, list, 1) == 0 && list[0].outcome == KERNEL_DONE, "remove",
		      name, list[0].error);
	return 0;
}

static uint32_t arg(char **argv, int argc, int i)
{
	return i < argc ? (uint32_t)strtoul(argv[i], NULL, 0) : 0;
}

int main(int argc, char **argv)
{
	_cleanup_(kernel_closep) struct kernel *k = NULL;
	const char *cmd = argc > 1 ? argv[1] : "", *a = argc > 2 ? argv[2] : "";
	int r = 0;

	if (streq(cmd, "probe"))
		return cmd_probe();
	if (argc > 3 && (streq(cmd, "filters") || streq(cmd, "change") || streq(cmd, "remove")))
		samples = samples_load(argv[3], &sample_count);
	r = kernel_open(&k);
	if (r == 0)
		kernel_set_instance(k, 1); /* the samples' */
	if (r < 0) {
		printf("FAIL open: %s\n", strerror(-r));
		return 1;
	}
	if (streq(cmd, "dump"))
		r = cmd_dump(k, a, arg(argv, argc, 3));
	else if (streq(cmd, "filters") && samples)
		r = cmd_filters(k, arg(argv, argc, 2), KERNEL_ADD);
	else if (streq(cmd, "change") && samples)
		r = cmd_filters(k, arg(argv, argc, 2), KERNEL_CHANGE);
	else if (streq(cmd, "remove") && samples)
		r = cmd_remove(k, arg(argv, argc, 2));
	else if (streq(cmd, "swapped"))
		r = cmd_swapped(k, arg(argv, argc, 2));
	else if (streq(cmd, "events"))
		r = cmd_events(k, a, (int)arg(argv, argc, 3));
	else if (streq(cmd, "latency"))
		r = cmd_latency(k, arg(argv, argc, 2));
	else if (streq(cmd, "bind"))
		r = cmd_bind(k, KERNEL_ADD, a, arg(argv, argc, 3));
	else if (streq(cmd, "unbind"))
		r = cmd_bind(k, KERNEL_REMOVE, a, arg(argv, argc, 3));
	else if (streq(cmd, "port"))
		r = cmd_port(k, a, (int)arg(argv, argc, 3), arg(argv, argc, 4),
			     argc > 5 ? atoi(argv[5]) : -1);
	else if (streq(cmd, "add") && argc > 2)
		r = cmd_add(k, argv[2]);
	else if (streq(cmd, "bypass"))
		r = cmd_bypass(k, arg(argv, argc, 2));
	else if (streq(cmd, "leg") && argc > 4)
		r = cmd_leg(k, a, argv[3], (uint16_t)arg(argv, argc, 4));
	else
		r = 2;
	return fails ? 1 : r;
}
