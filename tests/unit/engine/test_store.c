// SPDX-License-Identifier: GPL-2.0-or-later
/* The store: what it keeps, and that a store which fails stops an apply before the kernel hears of
 * it. */
#include "../check.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "config/base/netaddr.h"
#include "daemon/engine/measured.h"
#include "daemon/engine/store_generation.h"
#include "files.h"
#include "rig.h"

static char dir[64];

static int setup(void **state)
{
	strcpy(dir, "/tmp/swd-store-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static struct store *open_ok(const char *place)
{
	char words[STORE_WORDS];
	struct store *s = NULL;

	assert_int_equal(store_open(dir, place, &s, words), 0);
	return s;
}

static void sql(const char *text)
{
	char path[96];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/swd.db", dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static int try(struct store *s, const char *text, size_t size, uint64_t *ret_id)
{
	struct generation g = { .who = "me", .text = (char *)text, .size = size };

	return store_try(s, &g, NULL, ret_id);
}

static int end(struct store *s, uint64_t id, enum apply_outcome outcome, const char *error,
	       uint32_t keep)
{
	struct store_ending e = { .outcome = outcome, .error = error, .keep = keep };

	return store_end(s, id, &e);
}

static size_t aside_count(void)
{
	char pattern[96];
	glob_t g;
	size_t n;

	snprintf(pattern, sizeof(pattern), "%s/swd.db.corrupt-*", dir);
	n = glob(pattern, 0, NULL, &g) == 0 ? g.gl_pathc : 0;
	globfree(&g);
	return n;
}

static void generations_are_kept(void **state)
{
	struct store *s = open_ok("here");
	struct generation g = { 0 };
	uint64_t id = 0, bad = 0;

	assert_int_equal(store_committed(s, 0, &g), -ENOENT);
	assert_int_equal(try(s, "one\0two", 7, &id), 0);
	assert_int_equal(store_committed(s, 0, &g), -ENOENT); /* trying is not committed */
	assert_int_equal(end(s, id, APPLY_DONE, NULL, 50), 0);
	assert_int_equal(try(s, "three", 5, &bad), 0);
	assert_int_equal(end(s, bad, APPLY_REVERTED, "no", 50), 0);
	store_close(s);
	s = open_ok("here");
	assert_int_equal(store_committed(s, 0, &g), 0);
	assert_int_equal(g.id, id);
	assert_int_equal(g.size, 7);
	assert_memory_equal(g.text, "one\0two", 7);
	generation_clear(&g);
	/* The committed one outlives any number of failures. */
	for (int i = 0; i < 10; i++) {
		assert_int_equal(try(s, "x", 1, &bad), 0);
		assert_int_equal(end(s, bad, APPLY_REVERTED, NULL, 3), 0);
	}
	assert_int_equal(store_committed(s, 0, &g), 0);
	assert_int_equal(g.id, id);
	generation_clear(&g);
	store_close(s);
}

static struct object *an_address(const char *text)
{
	struct address *a = object_new(KIND_ADDRESS, sizeof(*a));
	int family = 0;

	ip_prefix_parse(text, &family, a->addr, &a->prefix_len);
	a->family = (uint8_t)family;
	COPY_NAME(a->dev, "lan1.5");
	return &a->obj;
}

static void ownership_lasts_a_boot(void **state)
{
	struct store *s = open_ok("boot 1");
	struct qdisc *q = object_new(KIND_QDISC, sizeof(*q));
	struct vlan *v = object_new(KIND_VLAN, sizeof(*v));
	const struct object *list[4];
	struct state *back = state_new();

	COPY_NAME(q->dev, "lan1.5");
	COPY_NAME(q->type, "clsact");
	q->ingress_block = 4000000000;
	COPY_NAME(v->name, "lan1.5");
	COPY_NAME(v->link, "lan1");
	v->id = 5;
	v->protocol = 0x88a8;
	list[0] = &q->obj;
	list[1] = &v->obj;
	list[2] = an_address("192.0.2.1/31");
	list[3] = an_address("2001:db8::1/64");
	assert_int_equal(store_own(s, list, 4, NULL, 0), 0);
	assert_int_equal(store_own(s, list, 4, NULL, 0), 0); /* twice is once */
	store_close(s);
	s = open_ok("boot 1");
	assert_int_equal(store_owned(s, NULL, back), 0);
	assert_int_equal(state_count(back, KIND_ADDRESS), 2);
	assert_non_null(state_find(back, list[3]));
	assert_int_equal(((const struct qdisc *)state_find(back, q))->ingress_block, 4000000000);
	assert_int_equal(state_vlan(back, "lan1.5")->protocol, 0x88a8);
	assert_int_equal(store_disown(s, list, 1), 0);
	store_close(s);
	state_free(back);
	back = state_new();
	s = open_ok("boot 1");
	assert_int_equal(store_owned(s, NULL, back), 0);
	assert_int_equal(state_count(back, KIND_QDISC), 0);
	assert_int_equal(state_count(back, KIND_VLAN), 1);
	store_close(s);
	state_free(back);
	back = state_new();
	s = open_ok("boot 2");
	assert_int_equal(store_owned(s, NULL, back), 0);
	assert_int_equal(state_count(back, KIND_VLAN), 0);
	store_close(s);
	state_free(back);
	for (size_t i = 0; i < 4; i++)
		object_unref((void *)list[i]);
}

static void spoil(void)
{
	char path[96], junk[8192];
	int fd;

	snprintf(path, sizeof(path), "%s/swd.db", dir);
	memset(junk, 0x5a, sizeof(junk));
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, junk, sizeof(junk), 0), sizeof(junk));
	close(fd);
}

static void corrupt_file_is_moved_aside_once(void **state)
{
	char words[STORE_WORDS];
	struct store *s;
	uint64_t id;

	store_close(open_ok("here"));
	spoil();
	assert_int_equal(store_open(dir, "here", &s, words), 0);
	assert_true(store_rebuilt(s));
	assert_non_null(strstr(words, "corrupt"));
	assert_int_equal(try(s, "x", 1, &id), 0);
	store_close(s);
	assert_int_equal(aside_count(), 1);
	s = open_ok("here");
	assert_false(store_rebuilt(s));
	store_close(s);
	assert_int_equal(aside_count(), 1);
	/* Again and again, in one second: none is in the other's place. */
	for (size_t i = 2; i <= 4; i++) {
		spoil();
		assert_int_equal(store_open(dir, "here", &s, words), 0);
		store_close(s);
		assert_int_equal(aside_count(), i);
	}
}

static void damage_inside_is_found(void **state)
{
	char path[96], words[STORE_WORDS], *big = malloc(200000), junk[2048];
	struct store *s = open_ok("here");
	struct stat st;
	uint64_t id;
	int fd;

	memset(big, 'x', 200000);
	assert_int_equal(try(s, big, 200000, &id), 0);
	assert_int_equal(end(s, id, APPLY_DONE, NULL, 50), 0);
	store_close(s);
	free(big);
	snprintf(path, sizeof(path), "%s/swd.db", dir);
	memset(junk, 0xff, sizeof(junk));
	fd = open(path, O_WRONLY);
	fstat(fd, &st);
	/* Page 2: a table's root. */
	assert_int_equal(pwrite(fd, junk, sizeof(junk), 4096), sizeof(junk));
	close(fd);
	assert_int_equal(store_open(dir, "here", &s, words), 0);
	assert_true(store_rebuilt(s));
	store_close(s);
}

static void newer_schema_is_left_alone(void **state)
{
	char words[STORE_WORDS];
	struct store *s = NULL;

	store_close(open_ok("here"));
	sql("PRAGMA user_version = 6");
	assert_int_equal(store_open(dir, "here", &s, words), -EPROTO);
	assert_non_null(strstr(words, "newer"));
	assert_int_equal(aside_count(), 0);
	sql("PRAGMA user_version = 5");
	store_close(open_ok("here"));
}

/* The schema of version 1, as it was released. */
static const char version_1[] =
	"CREATE TABLE generation (id INTEGER PRIMARY KEY AUTOINCREMENT, at_ns INTEGER NOT NULL,"
	" who TEXT NOT NULL, uid INTEGER NOT NULL, outcome TEXT NOT NULL, error TEXT,"
	" text BLOB NOT NULL);"
	"CREATE TABLE owned (kind TEXT NOT NULL, name TEXT NOT NULL, detail TEXT NOT NULL,"
	" PRIMARY KEY (kind, name, detail));"
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
	"PRAGMA application_id = 1937204224;"
	"PRAGMA user_version = 1;"
	"INSERT INTO meta VALUES ('place', 'here');"
	"INSERT INTO owned VALUES ('vlan', 'lan1.5', 'link=lan1 id=5 protocol=0x8100');"
	"INSERT INTO generation VALUES (7, 1700000000123456789, 'start', 0, 'done', NULL,"
	" x'6f6e650074776f');"
	"INSERT INTO generation VALUES (8, 1700000001000000000, 'sw-cli pid 5', 1000, 'reverted',"
	" 'no room', zeroblob(300000));"
	"INSERT INTO generation VALUES (9, 1700000002000000000, 'SIGHUP', 0, 'trying', NULL,"
	" x'61');";

static int64_t number(const char *text)
{
	char path[96];
	sqlite3_stmt *st;
	int64_t ret;
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/swd.db", dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, text, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	ret = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return ret;
}

static void version_1_becomes_ours(void **state)
{
	struct generation g, *list;
	struct state *owned = state_new();
	struct store *s;
	uint64_t id;
	size_t n;

	sql(version_1);
	s = open_ok("here");
	assert_false(store_rebuilt(s));
	assert_int_equal(store_history(s, &list, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(list[0].id, 9);
	assert_string_equal(list[1].outcome, "reverted");
	assert_string_equal(list[1].error, "no room");
	assert_int_equal(list[1].uid, 1000);
	assert_int_equal(list[1].size, 300000);
	assert_string_equal(list[1].why, "");
	free(list);
	assert_int_equal(store_committed(s, 0, &g), 0);
	assert_int_equal(g.id, 7);
	assert_true(g.at_ns == 1700000000123456789);
	assert_string_equal(g.who, "start");
	assert_int_equal(g.size, 7);
	assert_memory_equal(g.text, "one\0two", 7);
	assert_null(g.diff);
	generation_clear(&g);
	assert_int_equal(store_owned(s, NULL, owned), 0);
	assert_non_null(state_vlan(owned, "lan1.5"));
	state_free(owned);
	assert_int_equal(try(s, "x", 1, &id), 0);
	assert_int_equal(id, 10);
	store_close(s);
	assert_int_equal(number("PRAGMA user_version"), 5);
	assert_int_equal(number("SELECT count(*) FROM sqlite_master "
				"WHERE name = 'generation_1'"),
			 0);
	store_close(open_ok("here"));
	assert_int_equal(aside_count(), 0);
}

/* No room, or no such table: the file is as it was, and is no corrupt one. */
static void half_a_migration_is_none(void **state)
{
	struct rlimit was, less;
	char words[STORE_WORDS];
	struct store *s = NULL;
	struct generation g;

	sql(version_1);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	less = was;
	less.rlim_cur = 100000; /* the texts alone are more */
	setrlimit(RLIMIT_FSIZE, &less);
	assert_true(store_open(dir, "here", &s, words) < 0);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_int_equal(number("PRAGMA user_version"), 1);
	assert_int_equal(number("SELECT count(*) FROM generation WHERE text IS NOT NULL"), 3);
	assert_int_equal(aside_count(), 0);
	s = open_ok("here");
	assert_int_equal(store_generation(s, 8, &g), 0);
	assert_int_equal(g.size, 300000);
	generation_clear(&g);
	store_close(s);
}

static bool shuns(struct store *s, const char *text, uint64_t id)
{
	struct generation g = { 0 };
	int r = store_shuns(s, text, strlen(text), &g);

	assert_true(r == 0 || r == -ENOENT);
	return r == 0 && g.id == id;
}

/* The last verdict on a text counts, and outlives the history. */
static void verdicts_are_kept(void **state)
{
	struct store *s = open_ok("here");
	struct generation g = { .who = "me", .text = (char *)"one", .size = 3 };
	struct deadline d, e;
	struct moment now;
	uint64_t id;

	clock_now(&now);
	assert_int_equal(store_deadline(s, &d), -ENOENT);
	assert_int_equal(try(s, "zero", 4, &id), 0);
	assert_int_equal(end(s, id, APPLY_DONE, NULL, 50), 0);
	g.confirm_ms = 60000;
	assert_int_equal(store_try(s, &g, NULL, &id), 0);
	deadline_begin(&d, id, 60000, &now);
	assert_int_equal(store_end(s, id,
				   &(struct store_ending){
					   .outcome = APPLY_DONE, .deadline = &d, .keep = 50 }),
			 0);
	store_close(s);
	s = open_ok("here");
	assert_int_equal(store_deadline(s, &e), 0);
	assert_int_equal(e.generation, id);
	assert_int_equal(e.confirm_ms, 60000);
	assert_string_equal(e.at.boot, now.boot);
	assert_true(e.at.boot_ns == d.at.boot_ns && e.at.wall_ns == d.at.wall_ns);
	assert_false(shuns(s, "one", id));
	assert_int_equal(store_unconfirmed(s, id, "late"), 0);
	assert_int_equal(store_deadline(s, &e), -ENOENT);
	assert_true(shuns(s, "one", id));
	assert_false(shuns(s, "on", id));
	for (int i = 0; i < 20; i++) {
		uint64_t other;

		assert_int_equal(try(s, "x", 1, &other), 0);
		assert_int_equal(end(s, other, APPLY_REVERTED, NULL, 1), 0);
	}
	assert_true(shuns(s, "one", id));
	assert_int_equal(try(s, "one", 3, &id), 0);
	assert_int_equal(end(s, id, APPLY_DONE, NULL, 1), 0);
	assert_false(shuns(s, "one", 2));
	/* A revert takes back what was committed since, but for its own text. */
	assert_int_equal(try(s, "two", 3, &id), 0);
	assert_int_equal(end(s, id, APPLY_DONE, NULL, 50), 0);
	g = (struct generation){ .who = "me", .text = (char *)"zero", .size = 4, .reverts = 1 };
	assert_int_equal(store_try(s, &g, NULL, &id), 0);
	assert_int_equal(end(s, id, APPLY_DONE, NULL, 50), 0);
	assert_true(shuns(s, "two", id - 1));
	assert_true(shuns(s, "one", id - 2));
	assert_false(shuns(s, "zero", 1));
	store_close(s);
}

/* What is taken away under an open store is noticed, and the log's content is not lost. */
static void files_taken_away_are_missed(void **state)
{
	struct store *s = open_ok("here");
	struct store_device *devices;
	struct generation g;
	char path[96];
	uint64_t id;
	size_t n;

	assert_int_equal(store_there(s), 0);
	assert_int_equal(try(s, "one", 3, &id), 0);
	assert_int_equal(end(s, id, APPLY_DONE, NULL, 50), 0);
	assert_int_equal(store_there(s), 0);
	snprintf(path, sizeof(path), "%s/swd.db-wal", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(store_there(s), -ENOLINK);
	store_close(s);
	s = open_ok("here");
	assert_int_equal(store_committed(s, 0, &g), 0);
	assert_int_equal(g.id, id);
	generation_clear(&g);
	assert_int_equal(store_there(s), 0);
	snprintf(path, sizeof(path), "%s/swd.db", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(store_there(s), -ESTALE);
	store_close(s);
	/* And numbers of devices are kept for a boot alone. */
	s = open_ok("here");
	assert_int_equal(store_own_only(s, NULL, 0, &(struct store_device){ 7, "lan1" }, 1), 0);
	assert_int_equal(store_devices(s, &devices, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(devices[0].ifindex, 7);
	free(devices);
	store_close(s);
	s = open_ok("another");
	assert_int_equal(store_devices(s, &devices, &n), 0);
	assert_int_equal(n, 0);
	free(devices);
	store_close(s);
}

/* A disk that takes no more, by the limit on file sizes. */
static void full_disk_refuses_before_the_kernel(void **state)
{
	struct rlimit was, none;
	struct rig r;
	struct job *job;

	rig_begin(&r, BYPASS_ABILITY_READBACK);
	rig_write(&r, FILE_ONE);
	rig_start(&r);
	rig_settle(&r);
	rig_write(&r, FILE_TWO);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	none = was;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_FSIZE, &none);
	job = rig_reload(&r);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_true(job->result < 0);
	assert_int_equal(job->outcome, APPLY_REFUSED);
	assert_int_equal(fake.requests, 0);
	assert_non_null(rig_alert(&r, "store"));
	assert_non_null(strstr(diags_at(job->diags, 0)->text, "store"));
	job_free(job);
	/* What is in force is kept meanwhile, and the next apply is fine. */
	fake_del_filter(10, 0);
	rig_settle(&r);
	assert_int_equal(fake.requests, 1);
	assert_true(rig_reload_ok(&r) > 10);
	assert_null(rig_alert(&r, "store"));
	rig_end(&r);
}

static void no_store_at_all_takes_the_file_and_refuses_applies(void **state)
{
	char path[128];
	struct rig r;
	struct job *job;

	rig_begin(&r, BYPASS_ABILITY_READBACK);
	rig_write(&r, FILE_ONE);
	/* A folder in the file's place can't be opened, and is nothing to move aside. */
	snprintf(path, sizeof(path), "%s/swd.db", r.state);
	mkdir(path, 0700);
	rig_start(&r);
	rig_settle(&r);
	assert_true(fake.requests > 0);
	/* And the reason is not lost behind what failed for it. */
	assert_non_null(strstr(rig_alert(&r, "store")->text, path));
	rig_write(&r, FILE_TWO);
	job = rig_reload(&r);
	assert_int_equal(job->outcome, APPLY_REFUSED);
	assert_int_equal(fake.requests, 0);
	job_free(job);
	assert_non_null(strstr(rig_alert(&r, "store")->text, path));
	rig_end(&r);
}

/* A number that no kernel takes would be wanted, and the whole file refused for it. And SQLite lets
 * a primary key be NULL. */
static void measurements_that_are_no_good_are_none(void **state)
{
	static const char *const broken[] = {
		"UPDATE measured SET frames = 0",
		"UPDATE measured SET frames = 65",
		"UPDATE measured SET frames = 4294967312", /* 2^32 + 16 */
		"UPDATE measured SET frames = -1",
		"UPDATE measured SET name = NULL",
		"UPDATE measured SET name = 'a name that is too long'",
		"UPDATE measured SET driver = 'of thirty-two characters, or more'",
	};
	const struct measured m = { .dev = "eth0", .driver = "nic", .frames = 16 };
	struct measured_list list = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		struct store *s = open_ok("");

		assert_int_equal(store_put_measured(s, &m), 0);
		assert_int_equal(store_measured(s, &list), 0);
		assert_int_equal(list.count, 1);
		list.count = 0;
		sql(broken[i]);
		assert_int_equal(store_measured(s, &list), 0);
		assert_int_equal(list.count, 0);
		store_close(s);
		sql("DELETE FROM measured");
	}
	free(list.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(generations_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(ownership_lasts_a_boot, setup, teardown),
		cmocka_unit_test_setup_teardown(corrupt_file_is_moved_aside_once, setup, teardown),
		cmocka_unit_test_setup_teardown(damage_inside_is_found, setup, teardown),
		cmocka_unit_test_setup_teardown(newer_schema_is_left_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(version_1_becomes_ours, setup, teardown),
		cmocka_unit_test_setup_teardown(half_a_migration_is_none, setup, teardown),
		cmocka_unit_test_setup_teardown(verdicts_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(files_taken_away_are_missed, setup, teardown),
		cmocka_unit_test_setup_teardown(measurements_that_are_no_good_are_none, setup,
						teardown),
		cmocka_unit_test(full_disk_refuses_before_the_kernel),
		cmocka_unit_test(no_store_at_all_takes_the_file_and_refuses_applies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
