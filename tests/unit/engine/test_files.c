// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file and then another end as the other from scratch: files by chance, or one and a little edit
 * of it, on a kernel of paper. All that the last file says is there, what it says no more is gone,
 * each packet meets what it meets in a kernel that never had another file, and the same again sends
 * nothing.
 */
#include "../check.h"

#include <stdio.h>

#include "config/yaml/load.h"
#include "rig.h"
#include "tests/unit/policy/table.h"
#include "whole.h"

#define FILES 5 /* of a story, one after the other */

/* How many stories: as the test's argument says. */
static size_t rounds;

/* ---- what a kernel holds, wherever it stands ---- */

struct text {
	char **lines;
	size_t count, space;
};

static void text_clear(struct text *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->lines[i]);
	free(t->lines);
}

_printf_(2, 3) static void add_line(struct text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	assert_int_equal(grow(&t->lines, &t->space, t->count, sizeof(*t->lines)), 0);
	va_start(args, fmt);
	n = vasprintf(&t->lines[t->count++], fmt, args);
	va_end(args);
	assert_true(n > 0);
}

static void add_device(struct text *t, const char *name, uint32_t has, uint32_t up, uint32_t mtu,
		       uint32_t offload)
{
	if (has & PORT_HAS_UP)
		add_line(t, "%s up %u", name, up);
	if (has & PORT_HAS_MTU)
		add_line(t, "%s mtu %u", name, mtu);
	if (has & PORT_HAS_TC_OFFLOAD)
		add_line(t, "%s offload %u", name, offload);
}

/* Of a device only what the file says: all else stays as it is. */
static void add_devices(struct text *t, const struct state *wanted)
{
	for (size_t i = 0; i < state_count(wanted, KIND_PORT); i++) {
		const struct port *p = state_at(wanted, KIND_PORT, i);
		const struct port *f = state_port(fake.world, p->name);

		add_device(t, p->name, p->has, f->up, f->mtu, f->tc_offload);
	}
	for (size_t i = 0; i < state_count(fake.world, KIND_VLAN); i++) {
		const struct vlan *v = state_at(fake.world, KIND_VLAN, i);
		const struct vlan *w = state_vlan(wanted, v->name);

		add_line(t, "vlan %s on %s id %u protocol %x", v->name, v->link, v->id,
			 v->protocol);
		if (w)
			add_device(t, v->name, w->has, v->up, v->mtu, 0);
	}
}

static void add_objects(struct text *t, enum kind kind)
{
	for (size_t i = 0; i < state_count(fake.world, kind); i++) {
		const struct object *o = state_at(fake.world, kind, i);
		const struct qdisc *q = (const struct qdisc *)o;
		char label[OBJECT_LABEL];

		object_label(o, label);
		if (kind == KIND_QDISC)
			add_line(t, "%s blocks %u %u", label, q->ingress_block, q->egress_block);
		else
			add_line(t, "%s", label);
	}
}

static void add_filters(struct text *t)
{
	for (size_t i = 0; i < state_count(fake.world, KIND_FILTER); i++) {
		const struct filter *f = state_at(fake.world, KIND_FILTER, i);
		char match[MATCH_TEXT], actions[ACTIONS_TEXT];

		match_print(filter_match(f), match);
		actions_print(filter_actions(f), f->action_count, actions);
		add_line(t, "block %u chain %u protocol %x %s flags %x: %s: %s", f->block, f->chain,
			 f->protocol, filter_type_name(f), f->flags, match, actions);
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Behind all that, what the packets meet. */
static void add_decisions(struct text *t, const struct whole *w)
{
	for (size_t i = 0; i < WHOLE_PACKETS; i++) {
		for (size_t side = 0; side < SIDES * WHOLE_BLOCKS; side++) {
			uint32_t block = w->blocks[side / SIDES].id;
			bool twice = false;
			struct verdict v = table_walk(fake.world, block, side % SIDES,
						      &w->packets[i], false, &twice);
			char text[VERDICT_TEXT];

			verdict_print(&v, text);
			add_line(t, "packet %zu block %u side %zu: %s%s", i, block, side % SIDES,
				 text, twice ? ", twice" : "");
		}
	}
}

static struct text see(const struct whole *w, const char *yaml)
{
	_cleanup_(diags_freep) struct diags *d = diags_new("swd.yaml");
	_cleanup_(config_unrefp) struct config *c = NULL;
	struct text t = { 0 };

	assert_int_equal(config_load(yaml, strlen(yaml), d, &c), 0);
	add_devices(&t, c->wanted);
	add_objects(&t, KIND_ADDRESS);
	add_objects(&t, KIND_QDISC);
	add_filters(&t);
	if (t.count)
		qsort(t.lines, t.count, sizeof(*t.lines), by_text);
	add_decisions(&t, w);
	return t;
}

/* ---- a story ---- */

struct tally {
	size_t files, requests, lines, filters;
};

static void begin(struct rig *r)
{
	rig_begin(r, BYPASS_ABILITY_READBACK);
	for (char name[] = "lan3"; name[3] <= '6'; name[3]++)
		fake_add_port(name, NULL, 0);
	rig_start(r);
}

/* Applies it and comes to rest; false, and why, if it is refused. */
static bool apply(struct rig *r, const char *yaml, char why[600])
{
	struct job *job = rig_apply(r, yaml, 0);
	bool done = job->result == 0 && job->outcome == APPLY_DONE;

	if (!done)
		snprintf(why, 600, "not done: %d", job->result);
	for (size_t i = 0; i < diags_count(job->diags) && !done; i++)
		if (diags_at(job->diags, i)->level == DIAG_ERROR)
			snprintf(why, 600, "refused: %s", diags_at(job->diags, i)->text);
	job_free(job);
	owner_readable(r->o);
	return done;
}

static struct text from_scratch(const struct whole *w, char why[600])
{
	_cleanup_free_ char *yaml = whole_yaml(w);
	struct text t = { 0 };
	struct rig r;

	begin(&r);
	if (apply(&r, yaml, why))
		t = see(w, yaml);
	rig_end(&r);
	return t;
}

static bool same_text(const struct text *a, const struct text *b, char why[600])
{
	size_t i = 0;

	while (i < a->count && i < b->count && streq(a->lines[i], b->lines[i]))
		i++;
	if (i == a->count && i == b->count)
		return true;
	snprintf(why, 600, "from scratch: %s\n     and now: %s", i < a->count ? a->lines[i] : "-",
		 i < b->count ? b->lines[i] : "-");
	return false;
}

/* The same words again, and others with the same meaning. */
static bool sends_nothing(struct rig *r, const char *yaml, char why[600])
{
	_cleanup_free_ char *other = NULL;

	assert_true(asprintf(&other, "# the same\n%s", yaml) > 0);
	if (!apply(r, other, why))
		return false;
	if (fake.requests)
		snprintf(why, 600, "the same again sends %zu: %s", fake.requests, fake.log[0]);
	return !fake.requests;
}

static bool story_holds(const struct whole *files, size_t n, struct tally *t, char why[600])
{
	struct text scratch[FILES] = { 0 };
	bool holds = true;
	struct rig r;

	for (size_t i = 0; i < n && holds; i++) {
		scratch[i] = from_scratch(&files[i], why);
		holds = scratch[i].count > 0;
	}
	begin(&r);
	for (size_t i = 0; i < n && holds; i++) {
		_cleanup_free_ char *yaml = whole_yaml(&files[i]);
		_cleanup_(text_clear) struct text now = { 0 };

		holds = apply(&r, yaml, why);
		t->requests += fake.requests;
		if (!holds)
			break;
		now = see(&files[i], yaml);
		holds = same_text(&scratch[i], &now, why) && sends_nothing(&r, yaml, why);
		t->files++;
		t->lines += now.count;
		t->filters += state_count(fake.world, KIND_FILTER);
	}
	rig_end(&r);
	for (size_t i = 0; i < n; i++)
		text_clear(&scratch[i]);
	return holds;
}

/* ---- what is left of one that fails ---- */

static bool still_valid(const struct whole *w)
{
	_cleanup_(diags_freep) struct diags *d = diags_new("swd.yaml");
	_cleanup_(config_unrefp) struct config *c = NULL;
	_cleanup_free_ char *yaml = whole_yaml(w);

	return config_load(yaml, strlen(yaml), d, &c) == 0;
}

static size_t shrink_files(struct whole *files, size_t n, char why[600])
{
	struct tally t;

	for (size_t i = n; i-- > 0 && n > 1;) {
		struct whole fewer[FILES];
		char other[600] = "";

		memcpy(fewer, files, sizeof(fewer));
		memmove(&fewer[i], &fewer[i + 1], (n - i - 1) * sizeof(fewer[0]));
		if (story_holds(fewer, n - 1, &t, other))
			continue;
		whole_clear(&files[i]);
		memcpy(files, fewer, sizeof(fewer));
		n--;
		memcpy(why, other, 600);
	}
	return n;
}

static void shrink_things(struct whole *files, size_t n, char why[600])
{
	struct tally t;

	for (size_t k = 0; k < n; k++) {
		struct whole smaller = whole_copy(&files[k]);

		for (size_t i = 0; whole_take(&smaller, i); i++, smaller = whole_copy(&files[k])) {
			struct whole old = files[k];
			char other[600] = "";
			bool fails;

			files[k] = smaller;
			fails = still_valid(&smaller) && !story_holds(files, n, &t, other);
			if (!fails)
				files[k] = old;
			whole_clear(fails ? &old : &smaller);
			if (fails)
				memcpy(why, other, 600);
		}
		whole_clear(&smaller);
	}
}

static void test_one_file_and_then_another(void **state)
{
	struct dice start = dice_new("files");
	struct tally t = { 0 };

	for (size_t round = 0; round < rounds; round++) {
		struct dice d = { start.state + round * 2 };
		struct whole files[FILES];
		char why[600] = "";
		uint32_t id = 0;
		size_t n = FILES;

		for (size_t i = 0; i < n; i++)
			whole_random(&d, i && dice_below(&d, 3) ? &files[i - 1] : NULL, &id,
				     &files[i]);
		if (!story_holds(files, n, &t, why)) {
			print_error("SWD_TEST_SEED=%llu\n",
				    (unsigned long long)(start.state / 2 + round));
			n = shrink_files(files, n, why);
			shrink_things(files, n, why);
			shrink_things(files, n, why);
			for (size_t i = 0; i < n; i++) {
				_cleanup_free_ char *yaml = whole_yaml(&files[i]);

				fprintf(stderr, "--- file %zu\n%s", i, yaml);
			}
			fail_msg("%s", why);
		}
		for (size_t i = 0; i < n; i++)
			whole_clear(&files[i]);
	}
	print_message("%zu files, each after another and from scratch; %zu requests, %zu filters, "
		      "%zu lines compared\n",
		      t.files, t.requests, t.filters, t.lines);
	assert_int_equal(t.files, rounds * FILES);
	assert_true(t.filters > t.files && t.requests > t.files * 2);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_file_and_then_another),
	};

	rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 50;
	setenv("SWD_TEST_SEED", "1", false);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
