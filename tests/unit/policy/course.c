// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/policy/course.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "config/yaml/load.h"
#include "daemon/engine/diff.h"
#include "daemon/policy/compile.h"
#include "tests/unit/engine/fake_world.h"
#include "tests/unit/policy/table.h"

#define BLOCK 10

/* What each packet meets in a table, on both sides. */
struct seen {
	struct verdict verdicts[COURSE_PACKETS][SIDES];
};

struct running {
	const struct course *course;
	struct course_tally *tally;
	struct course_failure *failure;
	size_t list; /* the one that is coming */
	struct config *config;
	struct state *filters;	   /* of it, and ... */
	struct state *before;	   /* ... of the one before; NULL: none */
	struct state *owned, *old; /* as the kernel held it */
	struct seen *now, *was;
};

_printf_(3, 4) static enum course_end fail(struct running *r, size_t packet, const char *fmt, ...)
{
	va_list args;

	r->failure->list = r->list;
	r->failure->packet = packet;
	va_start(args, fmt);
	vsnprintf(r->failure->text, sizeof(r->failure->text), fmt, args);
	va_end(args);
	return COURSE_FAILS;
}

static const char *side_name(size_t side)
{
	return side == SIDE_HARDWARE ? "hardware" : "software";
}

static enum course_end fail_packet(struct running *r, size_t packet, size_t side, const char *when,
				   const struct verdict *wanted, const struct verdict *other,
				   const struct verdict *got)
{
	char a[VERDICT_TEXT], b[VERDICT_TEXT] = "", c[VERDICT_TEXT];

	verdict_print(wanted, a);
	if (other)
		verdict_print(other, b);
	verdict_print(got, c);
	return fail(r, packet, "%s: %s\n  expected: %s\n%s%s%s  got: %s", side_name(side), when, a,
		    other ? "        or: " : "", b, other ? "\n" : "", c);
}

/* ---- compiling ---- */

static int compile_with(struct running *r, const struct state *before, struct state **ret,
			char words[512])
{
	_cleanup_(diags_freep) struct diags *d = diags_new("swd.yaml");
	_cleanup_(state_freep) struct state *s = state_new();
	struct compile_input in = {
		.config = r->config,
		.before = before,
		.shortcut = r->course->shortcut,
		.profile = r->course->profile,
	};
	int err = compile(&in, d, s);

	if (err == 0)
		*ret = take(s);
	else if (diags_count(d))
		snprintf(words, 512, "%s", diags_at(d, 0)->text);
	return err;
}

/* Differences in place, of the same filters; "" if there are none. */
static void compare_places(const struct state *a, const struct state *b, char *to, size_t size)
{
	size_t n = state_count(a, KIND_FILTER);

	to[0] = '\0';
	if (n != state_count(b, KIND_FILTER)) {
		snprintf(to, size, "%zu filters, and then %zu", n, state_count(b, KIND_FILTER));
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const struct filter *x = state_at(a, KIND_FILTER, i);
		const struct filter *y = state_at(b, KIND_FILTER, i);
		char one[OBJECT_LABEL], two[OBJECT_LABEL];

		if (kind_ops(KIND_FILTER)->compare(&x->obj, &y->obj) == 0 &&
		    memcmp(x->cookie, y->cookie, sizeof(x->cookie)) == 0)
			continue;
		object_label(&x->obj, one);
		object_label(&y->obj, two);
		snprintf(to, size, "%s, and then %s", one, two);
		return;
	}
}

static struct state *without_rules(const struct state *s)
{
	struct state *bare = state_new();

	for (size_t i = 0; i < state_count(s, KIND_FILTER); i++) {
		struct filter *f = filter_copy(state_at(s, KIND_FILTER, i));

		object_unref(f->rule);
		f->rule = NULL;
		f->role = FILTER_ROLE_RULE;
		state_add(bare, f, NULL);
	}
	return bare;
}

/* The same list again, and as after a restart. */
static enum course_end check_stable(struct running *r)
{
	_cleanup_(state_freep) struct state *bare = without_rules(r->filters);
	const struct state *const sources[] = { r->filters, bare };

	for (size_t i = 0; i < 2; i++) {
		_cleanup_(state_freep) struct state *again = NULL;
		char words[512] = "", difference[400];

		if (compile_with(r, sources[i], &again, words) < 0)
			return fail(r, 0, "refused the second time: %s", words);
		compare_places(r->filters, again, difference, sizeof(difference));
		if (difference[0])
			return fail(r, 0, "not stable%s: %s", i ? " after a restart" : "",
				    difference);
	}
	return COURSE_HOLDS;
}

static enum course_end load(struct running *r)
{
	_cleanup_(diags_freep) struct diags *d = diags_new("swd.yaml");
	_cleanup_(state_freep) struct state *fresh = NULL;
	_cleanup_free_ char *yaml = written_yaml(&r->course->lists[r->list]);
	char words[512] = "";

	config_unref(take(r->config));
	if (config_load(yaml, strlen(yaml), d, &r->config) < 0)
		return COURSE_IS_NONE;
	state_free(r->before);
	r->before = take(r->filters);
	if (compile_with(r, r->before, &r->filters, words) == 0)
		return COURSE_HOLDS;
	if (!r->before || compile_with(r, NULL, &fresh, words) < 0)
		return COURSE_IS_NONE;
	return fail(r, 0, "refused for what stood there before: %s", words);
}

/* ---- at rest ---- */

static void tally_verdict(struct running *r, size_t packet, size_t side, const struct verdict *v)
{
	struct course_tally *t = r->tally;

	t->packets++;
	t->hits += v->hit_count > 0;
	t->tagged += v->hit_count > 0 && r->course->packets[packet].tag_count;
	t->chained += v->hit_count > 1;
	t->software += v->hit_count > 0 && side == SIDE_SOFTWARE;
}

static enum course_end check_rest(struct running *r)
{
	const struct written_block *list = &r->course->lists[r->list];

	for (size_t i = 0; i < r->course->packet_count; i++) {
		const struct packet *p = &r->course->packets[i];

		for (size_t side = 0; side < SIDES; side++) {
			struct verdict wanted = written_walk(list, (enum side)side, p), *got;
			bool twice = false;

			got = &r->now->verdicts[i][side];
			*got = table_walk(r->filters, BLOCK, (enum side)side, p, false, &twice);
			if (!verdict_same(&wanted, got) || !verdict_same_hits(&wanted, got))
				return fail_packet(r, i, side, "at rest", &wanted, NULL, got);
			if (twice)
				return fail_packet(r, i, side, "two of a pref match", &wanted, NULL,
						   got);
			tally_verdict(r, i, side, got);
		}
	}
	return COURSE_HOLDS;
}

/* ---- on the way ---- */

/* A step that no packet of ours meets changes nothing for them; of other chains we don't know. */
static bool meets(const struct step *s, const struct packet *p)
{
	const struct object *both[] = { s->wanted, s->found };

	for (size_t i = 0; i < 2; i++) {
		const struct filter *f = (const struct filter *)both[i];

		if (f && (f->chain || filter_matches(f, p)))
			return true;
	}
	return false;
}

/* What a plan brings with it beyond old and new. */
struct passing {
	bool gap;   /* the plan says that it has one */
	bool gaped; /* and a packet met that */
	bool mixed; /* a packet met one chain as it was and another as it will be */
};

static enum course_end look(struct running *r, size_t i, size_t side, const char *step,
			    struct passing *passing)
{
	const struct packet *p = &r->course->packets[i];
	const struct state *const tables[] = { fake.world, r->old, r->filters };
	const struct verdict *was = &r->was->verdicts[i][side], *will = &r->now->verdicts[i][side];
	bool twice = false;

	r->tally->looks++;
	for (size_t last = 0; last < 2; last++) {
		struct verdict got =
			table_walk(fake.world, BLOCK, (enum side)side, p, last, &twice);

		if (verdict_same(&got, was) || verdict_same(&got, will))
			continue;
		if (table_mixes(tables, BLOCK, (enum side)side, p, last)) {
			r->tally->mixed_looks++;
			passing->mixed = true;
			continue;
		}
		if (!passing->gap)
			return fail_packet(r, i, side, step, was, will, &got);
		r->tally->gap_looks++;
		passing->gaped = true;
	}
	return COURSE_HOLDS;
}

static enum course_end take_step(struct running *r, const struct plan *plan, size_t n,
				 struct passing *passing)
{
	const struct step *s = &plan->steps[n];
	struct kernel_request req = { .op = s->op, .wanted = s->wanted, .found = s->found };
	enum course_end end = COURSE_HOLDS;
	char text[STEP_TEXT];

	step_print(s, text, sizeof(text));
	kernel_execute(NULL, &req, 1);
	if (req.outcome != KERNEL_DONE || req.error)
		end = fail(r, 0, "step %zu of %zu is refused: %s", n + 1, plan->count, text);
	kernel_request_clear(&req);
	if (step_object(s)->kind != KIND_FILTER)
		return end;
	r->tally->steps++;
	r->tally->adds += s->op == KERNEL_ADD;
	r->tally->changes += s->op == KERNEL_CHANGE;
	r->tally->removes += s->op == KERNEL_REMOVE;
	/* Of the first list, which comes into an empty block, some packets are enough. */
	for (size_t i = 0; i < r->course->packet_count && end == COURSE_HOLDS; i += r->list ? 1 : 8)
		for (size_t side = 0; side < SIDES && end == COURSE_HOLDS; side++)
			if (meets(s, &r->course->packets[i]))
				end = look(r, i, side, text, passing);
	if (end == COURSE_FAILS) {
		char *at = r->failure->text + strlen(r->failure->text);
		char *stop = r->failure->text + sizeof(r->failure->text);

		at += snprintf(at, (size_t)(stop - at), "\n  the steps:");
		for (size_t i = 0; i < plan->count && at < stop - STEP_TEXT - 8; i++) {
			step_print(&plan->steps[i], text, sizeof(text));
			at += snprintf(at, (size_t)(stop - at), "\n  %s %s", i == n ? "->" : "  ",
				       text);
		}
	}
	return end;
}

static int make_plan(struct running *r, struct plan *ret)
{
	struct diff_input in = {
		.found = fake.world,
		.wanted = r->config->wanted,
		.filters = r->filters,
		.owned = r->owned,
		.in_use = true,
	};

	return diff(&in, ret);
}

static void drain_events(void)
{
	struct queued q;

	while (world_next_event(&q))
		object_unref(q.object);
}

/* Room for all, and no pref that people chose. */
static bool is_wide(const struct running *r)
{
	for (size_t k = 0; k <= r->list; k++)
		for (size_t i = 0; i < r->course->lists[k].count; i++)
			if (r->course->lists[k].rules[i].pref)
				return false;
	return r->course->profile.pref_max - r->course->profile.pref_min == 65534;
}

static enum course_end bring_about(struct running *r)
{
	_cleanup_(plan_clear) struct plan plan = { 0 }, rest = { 0 };
	enum course_end end = COURSE_HOLDS;
	struct passing passing = { 0 };

	state_free(r->old);
	r->old = state_copy(fake.world);
	if (make_plan(r, &plan) < 0 || plan.conflict_count || plan.waiting_count)
		return fail(r, 0, "no plan leads there");
	passing.gap = plan.gap_count > 0;
	if (passing.gap && is_wide(r))
		return fail(r, 0, "a gap where there is room");
	for (size_t n = 0; n < plan.count && end == COURSE_HOLDS; n++)
		end = take_step(r, &plan, n, &passing);
	drain_events();
	r->tally->mixed += passing.mixed;
	r->tally->gaps += passing.gap;
	r->tally->gaped += passing.gaped;
	if (end != COURSE_HOLDS)
		return end;
	if (make_plan(r, &rest) < 0 || rest.count)
		return fail(r, 0, "a second plan has %zu steps", rest.count);
	return COURSE_HOLDS;
}

/* ---- a course ---- */

static void tally_list(struct running *r)
{
	struct course_tally *t = r->tally;
	const struct filter *before = NULL;

	t->lists++;
	t->edits += r->list > 0;
	t->rules += r->course->lists[r->list].count;
	for (size_t i = 0; i < state_count(r->filters, KIND_FILTER); i++) {
		const struct filter *f = state_at(r->filters, KIND_FILTER, i);

		t->filters++;
		t->shared += before && before->chain == f->chain && before->pref == f->pref;
		before = f;
	}
}

static enum course_end one_list(struct running *r)
{
	struct seen *was = r->was;
	enum course_end end = load(r);

	r->was = r->now;
	r->now = was;
	if (end == COURSE_HOLDS)
		tally_list(r);
	if (end == COURSE_HOLDS)
		end = check_rest(r);
	if (end == COURSE_HOLDS)
		end = bring_about(r);
	if (end == COURSE_HOLDS)
		end = check_stable(r);
	return end;
}

enum course_end course_run(const struct course *c, struct course_tally *t,
			   struct course_failure *ret)
{
	static struct seen seen[2];
	struct running r = { .course = c, .tally = t, .failure = ret, .now = &seen[0] };
	enum course_end end = COURSE_HOLDS;

	r.was = &seen[1];
	memset(seen, 0, sizeof(seen));
	r.owned = state_new();
	fake_begin(BYPASS_ABILITY_READBACK);
	for (char name[] = "lan1"; name[3] <= '6'; name[3]++)
		fake_add_port(name, NULL, 0);
	for (r.list = 0; r.list < c->count && end == COURSE_HOLDS; r.list++)
		end = one_list(&r);
	config_unref(r.config);
	state_free(r.filters);
	state_free(r.before);
	state_free(r.old);
	state_free(r.owned);
	fake_end();
	return end;
}
