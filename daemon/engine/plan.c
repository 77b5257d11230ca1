// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The list of steps itself: keeping it, and showing it as text and as JSON. See plan.h.
 */
#include "daemon/engine/plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "config/base/jsonw.h"

#define GAPS_NEAR 64

void plan_clear(struct plan *p)
{
	for (size_t i = 0; i < p->count; i++) {
		object_unref(p->steps[i].wanted);
		object_unref(p->steps[i].found);
	}
	for (size_t i = 0; i < p->conflict_count; i++)
		object_unref(p->conflicts[i].object);
	for (size_t i = 0; i < p->gap_count; i++)
		object_unref(p->gaps[i].object);
	free(p->steps);
	free(p->waiting);
	free(p->conflicts);
	free(p->gaps);
	*p = (struct plan){ 0 };
}

int plan_add(struct plan *p, enum kernel_op op, enum step_reason reason,
	     const struct object *wanted, const struct object *found)
{
	int r = grow(&p->steps, &p->space, p->count, sizeof(*p->steps));

	if (r < 0)
		return r;
	p->steps[p->count++] = (struct step){
		.op = op,
		.reason = reason,
		.wanted = object_ref(wanted),
		.found = object_ref(found),
	};
	return 0;
}

int plan_wait(struct plan *p, const char *port, const struct object *for_what)
{
	struct waiting *w;
	int r = grow(&p->waiting, &p->waiting_space, p->waiting_count, sizeof(*p->waiting));

	if (r < 0)
		return r;
	w = &p->waiting[p->waiting_count++];
	*w = (struct waiting){ .for_what = for_what };
	COPY_NAME(w->port, port);
	return 0;
}

int plan_conflict(struct plan *p, const struct object *object, bool blocking, const char *fmt, ...)
{
	struct conflict *c;
	va_list ap;
	int r = grow(&p->conflicts, &p->conflict_space, p->conflict_count, sizeof(*p->conflicts));

	if (r < 0)
		return r;
	c = &p->conflicts[p->conflict_count++];
	c->object = object_ref(object);
	c->blocking = blocking;
	va_start(ap, fmt);
	vsnprintf(c->text, sizeof(c->text), fmt, ap);
	va_end(ap);
	return 0;
}

static const struct rule *object_rule(const struct object *o)
{
	return o->kind == KIND_FILTER ? ((const struct filter *)o)->rule : NULL;
}

int plan_gap(struct plan *p, const struct object *object, const char *fmt, ...)
{
	const struct rule *rule = object_rule(object);
	struct gap *g;
	va_list ap;
	int r;

	/* A rule's filters come not far behind each other. */
	for (size_t i = p->gap_count; rule && i-- > 0 && i + GAPS_NEAR >= p->gap_count;)
		if (object_rule(p->gaps[i].object) == rule)
			return 0;
	r = grow(&p->gaps, &p->gap_space, p->gap_count, sizeof(*p->gaps));
	if (r < 0)
		return r;
	g = &p->gaps[p->gap_count++];
	g->object = object_ref(object);
	va_start(ap, fmt);
	vsnprintf(g->text, sizeof(g->text), fmt, ap);
	va_end(ap);
	return 0;
}

const char *step_reason_name(enum step_reason r)
{
	switch (r) {
	case STEP_MISSING:
		return "missing";
	case STEP_DIFFERENT:
		return "different";
	case STEP_LEFTOVER:
		return "leftover";
	case STEP_EVICT:
		return "evict";
	case STEP_HEAL:
		return "heal";
	case STEP_TAKEOVER:
		return "takeover";
	case STEP_BEFORE:
		return "before";
	case STEP_BESIDE:
		return "beside";
	}
	return "?";
}

static const char *op_name(enum kernel_op op)
{
	switch (op) {
	case KERNEL_ADD:
		return "add";
	case KERNEL_CHANGE:
		return "change";
	case KERNEL_REMOVE:
		return "remove";
	}
	return "?";
}

static char op_sign(enum kernel_op op)
{
	switch (op) {
	case KERNEL_ADD:
		return '+';
	case KERNEL_CHANGE:
		return '~';
	case KERNEL_REMOVE:
		return '-';
	}
	return '?';
}

const struct object *step_object(const struct step *s)
{
	return s->wanted ? s->wanted : s->found;
}

void step_print(const struct step *s, char *to, size_t size)
{
	const struct object *o = step_object(s);
	const struct rule *rule = object_rule(o);
	char label[OBJECT_LABEL], difference[DIFFERENCE_TEXT] = "";

	object_label(o, label);
	if (s->wanted && s->found && s->reason == STEP_DIFFERENT)
		object_difference(s->wanted, s->found, difference);
	snprintf(to, size, "%c %s%s%s%s: %s%s%s", op_sign(s->op), label, rule ? " (rule " : "",
		 rule ? rule->name : "", rule ? ")" : "", step_reason_name(s->reason),
		 difference[0] ? ": " : "", difference);
}

static void key_label(struct jsonw *w, const char *key, const struct object *o)
{
	char label[OBJECT_LABEL];

	object_label(o, label);
	jsonw_key_string(w, key, label);
}

static void key_line(struct jsonw *w, const struct object *o)
{
	if (o->origin.line) {
		jsonw_key_u64(w, "line", o->origin.line);
	} else {
		jsonw_key(w, "line");
		jsonw_null(w);
	}
}

/* Whose filter it is; null for all else. */
static void key_rule(struct jsonw *w, const struct object *o)
{
	const struct rule *rule = object_rule(o);

	jsonw_key(w, "block");
	if (o->kind == KIND_FILTER)
		jsonw_u64(w, ((const struct filter *)o)->block);
	else
		jsonw_null(w);
	jsonw_key_string(w, "rule", rule ? rule->name : NULL);
}

/* The device whose object it is; null for filters, which are a block's. */
static const char *object_port(const struct object *o)
{
	switch ((enum kind)o->kind) {
	case KIND_PORT:
		return ((const struct port *)o)->name;
	case KIND_TX:
		return ((const struct tx *)o)->dev;
	case KIND_VLAN:
		return ((const struct vlan *)o)->name;
	case KIND_ADDRESS:
		return ((const struct address *)o)->dev;
	case KIND_QDISC:
		return ((const struct qdisc *)o)->dev;
	case KIND_BLOCK:
	case KIND_RULE:
	case KIND_FILTER:
	case KIND_COUNT_:
		return NULL;
	}
	return NULL;
}

static void step_json(const struct step *s, struct jsonw *w)
{
	const struct object *o = step_object(s);
	char text[STEP_TEXT];

	jsonw_object(w);
	jsonw_key_string(w, "op", op_name(s->op));
	jsonw_key_string(w, "reason", step_reason_name(s->reason));
	jsonw_key_string(w, "kind", kind_ops((enum kind)o->kind)->name);
	key_label(w, "object", o);
	jsonw_key_string(w, "port", object_port(o));
	key_rule(w, o);
	key_line(w, o);
	step_print(s, text, sizeof(text));
	jsonw_key_string(w, "text", text);
	jsonw_object_end(w);
}

void plan_json(const struct plan *p, struct jsonw *w)
{
	jsonw_object(w);
	jsonw_key(w, "steps");
	jsonw_array(w);
	for (size_t i = 0; i < p->count; i++)
		step_json(&p->steps[i], w);
	jsonw_array_end(w);
	jsonw_key(w, "waiting");
	jsonw_array(w);
	for (size_t i = 0; i < p->waiting_count; i++) {
		jsonw_object(w);
		jsonw_key_string(w, "port", p->waiting[i].port);
		key_label(w, "object", p->waiting[i].for_what);
		key_rule(w, p->waiting[i].for_what);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
	jsonw_key(w, "conflicts");
	jsonw_array(w);
	for (size_t i = 0; i < p->conflict_count; i++) {
		jsonw_object(w);
		key_label(w, "object", p->conflicts[i].object);
		key_line(w, p->conflicts[i].object);
		jsonw_key_string(w, "text", p->conflicts[i].text);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
	jsonw_key(w, "gaps");
	jsonw_array(w);
	for (size_t i = 0; i < p->gap_count; i++) {
		jsonw_object(w);
		key_label(w, "object", p->gaps[i].object);
		key_rule(w, p->gaps[i].object);
		key_line(w, p->gaps[i].object);
		jsonw_key_string(w, "text", p->gaps[i].text);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
	jsonw_object_end(w);
}

int plan_json_text(const struct plan *p, char **ret)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	size_t size;

	if (!w)
		return -ENOMEM;
	plan_json(p, w);
	return jsonw_take(w, ret, &size);
}

int plan_text(const struct plan *p, size_t most, char **ret)
{
	char line[STEP_TEXT];
	const size_t behind = 32; /* "and N more\n" */
	char *text = malloc(most);
	size_t at = 0, i;

	if (!text)
		return -ENOMEM;
	text[0] = '\0';
	for (i = 0; i < p->count; i++) {
		step_print(&p->steps[i], line, sizeof(line));
		if (at + strlen(line) + 2 + behind > most)
			break;
		at += (size_t)sprintf(text + at, "%s\n", line);
	}
	if (i < p->count)
		snprintf(text + at, most - at, "and %zu more\n", p->count - i);
	*ret = text;
	return 0;
}
