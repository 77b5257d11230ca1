// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From plan to requests, and from answers to messages: see apply.h. The way back is in undo.c.
 */
#include "daemon/engine/apply.h"

#include <errno.h>
#include <stdio.h>

#include "config/base/log.h"
#include "daemon/engine/observe.h"
#include "daemon/engine/owned.h"
#include "daemon/engine/renames.h"

#define BATCH_MOST 128
#define NOTES_MOST 16 /* of one apply */

void apply_clear(struct apply *a)
{
	state_free(a->before);
	state_free(a->owned_before);
	free(a->outcomes);
	free(a->errors);
	free(a->said);
	*a = (struct apply){ 0 };
}

/* ---- records of ownership ---- */

/*
 * What carries no mark is recorded before it is made: a crash between the two leaves a record too
 * many, which harms nothing, and never an object that nobody owns.
 */
static int record(struct engine_owner *o, const struct plan *plan)
{
	_cleanup_free_ const struct object **list = calloc(plan->count + 1, sizeof(*list));
	_cleanup_free_ struct store_device *devices = NULL;
	size_t n = 0, device_count;
	int r;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < plan->count; i++) {
		const struct step *s = &plan->steps[i];

		if (s->op == KERNEL_ADD && owned_kind((enum kind)s->wanted->kind))
			list[n++] = s->wanted;
	}
	if (n == 0)
		return 0;
	r = renames_devices(o, list, n, &devices, &device_count);
	if (r < 0)
		return r;
	/* What others took away and comes back need not wait for the disk. */
	if (o->store && store_has(o->store, list, n, devices, device_count))
		return 0;
	pulse_wait(o->pulse);
	r = o->store ? store_own(o->store, list, n, devices, device_count) : -ENODEV;
	pulse_go(o->pulse);
	owner_store_result(o, "what is ours can't be recorded", r);
	return r;
}

void apply_disown(struct engine_owner *o, const struct object *object)
{
	const struct object *list[1] = { object };

	if (!owned_kind((enum kind)object->kind))
		return;
	/* Another of the same name may have become ours meanwhile. */
	if (owned_has(o->owned, object))
		state_remove(o->owned, object);
	if (o->store)
		owner_store_result(o, "what is ours can't be recorded",
				   store_disown(o->store, list, 1));
}

/*
 * Keeps the set in memory; a record of what was refused goes again. What may be there all the same,
 * because nobody could look, stays ours.
 */
static void settle_owned(struct engine_owner *o, const struct step *s, enum kernel_outcome outcome,
			 bool refused)
{
	const struct object *object = step_object(s);
	struct object *ref;

	if (!owned_kind((enum kind)object->kind))
		return;
	if (s->op == KERNEL_ADD && (outcome == KERNEL_DONE || !refused)) {
		ref = object_ref(s->wanted);
		if (state_put(o->owned, ref) < 0)
			object_unref(ref);
	} else if (s->op == KERNEL_ADD || (s->op == KERNEL_REMOVE && outcome == KERNEL_DONE)) {
		if (s->op == KERNEL_REMOVE && !owned_has(o->owned, object))
			return;
		apply_disown(o, object);
	}
}

/* ---- messages ---- */

/* "swd.yaml:41:7: error: rule no-bogons: kernel: WORDS (block 10 chain 0 pref 11 ip flower 0x1)" */
static void explain(const struct apply *a, const struct step *s, const char *words, struct diags *d)
{
	const char *who = a->undo ? "can't be undone: kernel" : "kernel";
	const struct object *object = step_object(s);
	const struct rule *rule =
		object->kind == KIND_FILTER ? ((const struct filter *)object)->rule : NULL;
	char path[RULE_NAME_MAX + 8], label[OBJECT_LABEL];

	object_label(object, label);
	if (rule) {
		snprintf(path, sizeof(path), "rule %s", rule->name);
		diags_add(d, DIAG_ERROR, object->origin, path, "%s: %s (%s)", who, words, label);
	} else {
		diags_add(d, DIAG_ERROR, object->origin, label, "%s: %s", who, words);
	}
}

/* Who may be why a block takes no skip_sw filter: a member that does not say that it offloads. */
static const char *idle_member(const struct engine_owner *o, const struct step *s, int error)
{
	const struct filter *f = (const struct filter *)s->wanted;

	if (error != -EOPNOTSUPP || s->op == KERNEL_REMOVE || f->obj.kind != KIND_FILTER ||
	    !(f->flags & TCA_CLS_FLAGS_SKIP_SW))
		return NULL;
	for (size_t i = 0; i < state_count(o->found, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(o->found, KIND_QDISC, i);
		const struct port *p = state_port(o->found, q->dev);

		if ((q->ingress_block == f->block || q->egress_block == f->block) &&
		    !(p && p->facts.offload == 1))
			return q->dev;
	}
	return NULL;
}

static void print_refusal(const struct kernel_request *req, char to[200])
{
	bool words = req->words && req->words[0];

	snprintf(to, 200, "%s%s%s", words ? req->words : "", words ? ": " : "",
		 strerror(-req->error));
}

static void explain_refused(const struct engine_owner *o, const struct apply *a,
			    const struct step *s, const struct kernel_request *req, struct diags *d)
{
	const char *idle = idle_member(o, s, req->error);
	char refusal[200], words[280];

	print_refusal(req, refusal);
	snprintf(words, sizeof(words), "%s%s%s", refusal,
		 idle ? "; its block has a member that may not offload: " : "", idle ? idle : "");
	explain(a, s, words, d);
}

/* One member less, and the rest goes on: once a block's filters are in hardware, Linux refuses
 * who can't hold them (tcf_block_offload_bind(), 6.1 and 6.12). */
static bool is_left_out(const struct apply *a, const struct step *s, int error)
{
	/* On the way back that is what was there, and is missed. */
	return (s->reason == STEP_MISSING || (s->reason == STEP_DIFFERENT && !a->undo)) &&
	       s->op == KERNEL_ADD && s->wanted->kind == KIND_QDISC && error == -EOPNOTSUPP;
}

static void explain_left_out(const struct step *s, const struct kernel_request *req,
			     struct diags *d)
{
	char label[OBJECT_LABEL], refusal[200];

	object_label(s->wanted, label);
	print_refusal(req, refusal);
	diags_add(d, DIAG_WARNING, s->wanted->origin, label,
		  "left out, since it can't hold the block's filters: kernel: %s", refusal);
}

/* What was to be removed and is not there, or is another's by now: done, and worth a word. */
static void note_not_removed(struct apply *a, const struct step *s, int error)
{
	char label[OBJECT_LABEL];

	if (error == 0 || ++a->noted > NOTES_MOST)
		return;
	object_label(s->found, label);
	log_info("%s: %s", label,
		 error == -EEXIST ? "another's is in its place by now, and stays"
				  : "was gone already");
}

/* It went with all its filters: nobody is to find that out by himself. */
static void note_takeover(const struct step *s)
{
	char text[STEP_TEXT];

	if (s->reason != STEP_TAKEOVER || s->op != KERNEL_REMOVE)
		return;
	step_print(s, text, sizeof(text));
	log_notice("%s, with all its filters", text);
}

/* ---- outcomes ---- */

/*
 * True if found has what the step was for. What the kernel says it took is compared with what was
 * wanted: an answer of "done" is not believed alone.
 */
static bool took_it(const struct engine_owner *o, const struct step *s, const struct object *echo)
{
	const struct object *now = echo ? echo : state_find(o->found, step_object(s));

	if (s->op == KERNEL_REMOVE)
		return !now;
	return now && kind_ops((enum kind)s->wanted->kind)->satisfied(s->wanted, now);
}

/* A file may list a VLAN device as a port: then found has it under the other kind. */
static bool checkable(const struct engine_owner *o, const struct step *s)
{
	return step_object(s)->kind != KIND_PORT || state_find(o->found, step_object(s));
}

/* A driver may round what it is given, a ring's size to a power of two. */
static void explain_other(const struct engine_owner *o, const struct apply *a, const struct step *s,
			  const struct object *echo, struct diags *d)
{
	const struct object *now = echo ? echo : state_find(o->found, step_object(s));
	char difference[DIFFERENCE_TEXT] = "", words[DIFFERENCE_TEXT + 64];

	if (now)
		object_difference(s->wanted, now, difference);
	snprintf(words, sizeof(words), "it said yes, and holds something else%s%s",
		 difference[0] ? ": " : "", difference);
	explain(a, s, words, d);
}

static void settle_step(struct engine_owner *o, struct apply *a, size_t i,
			const struct kernel_request *req, struct diags *d)
{
	const struct step *s = &a->plan->steps[i];
	enum kernel_outcome outcome = req->outcome;
	size_t said = diags_count(d);
	int error = req->error;
	bool left_out = is_left_out(a, s, error);

	observe_took(o, req);
	if (outcome == KERNEL_UNKNOWN) {
		outcome = took_it(o, s, NULL) ? KERNEL_DONE : KERNEL_REFUSED;
		error = -ETIMEDOUT;
		if (outcome == KERNEL_REFUSED)
			explain(a, s, "no answer in time, and not done", d);
	} else if (outcome == KERNEL_REFUSED || outcome == KERNEL_NOT_SENT) {
		outcome = KERNEL_REFUSED;
		if (left_out)
			explain_left_out(s, req, d);
		else
			explain_refused(o, a, s, req, d);
	} else if (s->op != KERNEL_REMOVE && checkable(o, s) && !took_it(o, s, req->echo)) {
		outcome = KERNEL_REFUSED;
		error = -EPROTO;
		explain_other(o, a, s, req->echo, d);
	} else if (s->op == KERNEL_REMOVE) {
		note_not_removed(a, s, error);
		note_takeover(s);
	}
	a->said[i] = diags_count(d) > said ? said + 1 : 0;
	a->outcomes[i] = outcome;
	a->errors[i] = outcome == KERNEL_DONE ? 0 : error;
	a->done += outcome == KERNEL_DONE;
	a->refused += outcome != KERNEL_DONE && !left_out;
	settle_owned(o, s, outcome,
		     req->outcome == KERNEL_REFUSED || req->outcome == KERNEL_NOT_SENT ||
			     (req->outcome == KERNEL_UNKNOWN && !observe_is_stale(o)));
}

/* ---- batches ---- */

/* True if the step needs a device that a step of the batch makes or takes. */
static bool depends(const struct plan *p, size_t first, size_t i)
{
	const struct object *object = step_object(&p->steps[i]);
	const char *needs;

	if (object->kind != KIND_VLAN)
		return false;
	needs = ((const struct vlan *)object)->link;
	for (; first < i; first++) {
		const struct vlan *v = (const struct vlan *)step_object(&p->steps[first]);

		if (streq(v->name, needs) || streq(v->name, ((const struct vlan *)object)->name))
			return true;
	}
	return false;
}

/*
 * A batch goes out whole. So nothing is removed in the batch that adds what is to stand in its
 * place: the old filter goes only when the new one was taken.
 */
static size_t batch_end(const struct plan *p, size_t first)
{
	bool puts = false;
	size_t i = first;

	while (i < p->count && i - first < BATCH_MOST) {
		const struct step *s = &p->steps[i];

		if (step_object(s)->kind != step_object(&p->steps[first])->kind ||
		    depends(p, first, i) || (puts && s->op == KERNEL_REMOVE))
			break;
		puts |= s->op != KERNEL_REMOVE;
		i++;
	}
	return i;
}

static int run_batch(struct engine_owner *o, struct apply *a, size_t first, size_t end,
		     struct kernel_request *reqs, struct diags *d)
{
	int r;

	for (size_t i = first; i < end; i++)
		reqs[i - first] = (struct kernel_request){
			.op = a->plan->steps[i].op,
			.wanted = a->plan->steps[i].wanted,
			.found = a->plan->steps[i].found,
		};
	a->sent += end - first;
	pulse_wait(o->pulse);
	r = kernel_execute(o->kernel, reqs, end - first);
	pulse_go(o->pulse);
	for (size_t i = first; i < end; i++) {
		struct kernel_request *req = &reqs[i - first];

		if (r < 0 && req->outcome == KERNEL_NOT_SENT && req->error == 0)
			req->error = r;
		settle_step(o, a, i, req, d);
		kernel_request_clear(req);
	}
	return a->refused ? -EIO : 0;
}

/* Our own changes come back as events, which ask for more. Those of a few are read behind the last:
 * what is to come does not wait for them. */
static int run_batches(struct engine_owner *o, struct apply *a, enum apply_mode mode,
		       struct kernel_request *reqs, struct diags *d)
{
	size_t unheard = 0;

	for (size_t i = 0, end; i < a->plan->count; i = end) {
		int r;

		pulse_step(o->pulse, i);
		end = batch_end(a->plan, i);
		r = run_batch(o, a, i, end, reqs, d);
		if (r < 0 && mode == APPLY_ALL)
			return r;
		unheard += end - i;
		if (unheard >= BATCH_MOST) {
			observe_events(o);
			unheard = 0;
		}
	}
	return a->refused ? -EIO : 0;
}

int apply_run(struct engine_owner *o, const struct plan *plan, enum apply_mode mode,
	      struct diags *d, struct apply *ret)
{
	_cleanup_free_ struct kernel_request *reqs = NULL;
	int r;

	ret->plan = plan;
	if (plan->count == 0)
		return 0;
	reqs = calloc(BATCH_MOST, sizeof(*reqs));
	ret->outcomes = calloc(plan->count, sizeof(*ret->outcomes));
	ret->errors = calloc(plan->count, sizeof(*ret->errors));
	ret->said = calloc(plan->count, sizeof(*ret->said));
	if (!reqs || !ret->outcomes || !ret->errors || !ret->said)
		return -ENOMEM;
	if (mode == APPLY_ALL) {
		ret->before = state_copy(o->found);
		ret->owned_before = state_copy(o->owned);
		if (!ret->before || !ret->owned_before)
			return -ENOMEM;
	}
	r = record(o, plan);
	if (r < 0 && mode == APPLY_ALL)
		return r;

	pulse_begin(o->pulse,
		    ret->undo		? PULSE_UNDO
		    : mode == APPLY_ALL ? PULSE_APPLY
					: PULSE_REPAIR,
		    plan->count);
	r = run_batches(o, ret, mode, reqs, d);
	observe_events(o);
	return r;
}
