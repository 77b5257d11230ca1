// SPDX-License-Identifier: GPL-2.0-or-later
/* What Tx and MeasureTx answer of sample_snapshot(), where lan2 says flush: auto. */
#include "tests/unit/check.h"

#include "config/model/tx.h"
#include "tests/unit/service/answer.h"
#include "tests/unit/service/fake.h"
#include "tests/unit/service/shape.h"

static void test_tx(void **state)
{
	cJSON *p = ask("Tx", NULL);
	const cJSON *ports = at(p, "ports"), *port = named(ports, "name", "lan2"), *v;

	assert_int_equal(cJSON_GetArraySize(ports), 2);
	is_text(port, "state", "differs");
	assert_int_equal(cJSON_GetArraySize(at(port, "values")), 7);
	v = named(at(port, "values"), "name", "flush");
	assert_true(cJSON_IsTrue(at(v, "auto")));
	assert_true(cJSON_IsNull(at(v, "wanted")));
	assert_true(cJSON_IsFalse(at(v, "differs")));
	is_number(v, "found", 1);
	v = named(at(port, "values"), "name", "ring");
	is_text(v, "part", "ring");
	assert_true(cJSON_IsTrue(at(v, "differs")));
	is_number(v, "wanted", 512);
	is_number(v, "found", 256);
	is_number(v, "most", 4096);
	v = named(at(port, "values"), "name", "tx-frames");
	assert_true(cJSON_IsNull(at(v, "found")));
	v = named(at(port, "values"), "name", "limit-max");
	assert_true(cJSON_IsTrue(at(v, "queues_differ")));
	is_text(named(ports, "name", "lan9"), "state", "waiting");
	is_number(at(port, "measured"), "frames", 4);
	assert_true(cJSON_IsTrue(at(at(port, "measured"), "noisy")));
	is_text(at(port, "waits"), "text", "the machine was busy");
	assert_true(cJSON_IsNull(at(named(ports, "name", "lan9"), "measured")));
	cJSON_Delete(p);
}

/* A driver that does not tell one part: the device is there all the same. */
static void test_a_part_that_is_not_told(void **state)
{
	struct snapshot *s = sample_snapshot();
	cJSON *p;

	assert_int_equal(state_remove(s->found, tx_find(s->found, "lan2", TX_RING)), 1);
	fake_publish(&fake, s);
	p = ask("Tx", NULL);
	is_text(named(at(p, "ports"), "name", "lan2"), "state", "lacks");
	cJSON_Delete(p);
	p = ask("Ports", NULL);
	is_text(named(at(p, "ports"), "name", "lan2"), "state", "differs");
	cJSON_Delete(p);
}

enum lan2 {
	LAN2_DOWN,
	LAN2_WITHOUT_CARRIER,
	LAN2_ON_TRIAL,
	LAN2_FRESH, /* its turn comes, and nothing was tried yet */
	LAN2_GOOD,
	LAN2_OF_ANOTHER_DRIVER,
	LAN2_NOT_AUTO,
	LAN2_WITHOUT_DOORBELL,
};

static void change_lan2(struct snapshot *s, enum lan2 how)
{
	struct port *p = (struct port *)(uintptr_t)state_port(s->found, "lan2");
	struct tx *wanted = (struct tx *)(uintptr_t)tx_find(s->config->wanted, "lan2", TX_FLUSH);

	switch (how) {
	case LAN2_DOWN:
		p->up = 0;
		return;
	case LAN2_WITHOUT_CARRIER:
		p->facts.carrier = 0;
		return;
	case LAN2_ON_TRIAL:
		s->armed.generation = 8;
		return;
	case LAN2_FRESH:
		turns_end(&s->turns, "lan2");
		assert_int_equal(turns_begin(&s->turns, "lan2", UINT64_MAX), 0);
		return;
	case LAN2_GOOD:
		s->measured.list[0].noisy = false;
		return;
	case LAN2_OF_ANOTHER_DRIVER:
		strcpy(p->facts.driver, "other");
		return;
	case LAN2_NOT_AUTO:
		wanted->automatic = 0;
		return;
	case LAN2_WITHOUT_DOORBELL:
		((struct tx *)(uintptr_t)tx_find(s->found, "lan2", TX_FLUSH))->has = 0;
		return;
	}
}

static void test_what_a_measurement_waits_for(void **state)
{
	static const struct {
		enum lan2 how;
		const char *text;
		bool timed, measured;
	} cases[] = {
		{ LAN2_DOWN, "it is down", false, true },
		{ LAN2_WITHOUT_CARRIER, "no carrier", false, true },
		{ LAN2_ON_TRIAL, "a generation waits for its confirmation", false, true },
		{ LAN2_FRESH, NULL, false, true },
		{ LAN2_GOOD, NULL, false, true },
		{ LAN2_OF_ANOTHER_DRIVER, "the machine was busy", true, false },
		{ LAN2_NOT_AUTO, NULL, false, true },
		{ LAN2_WITHOUT_DOORBELL, NULL, false, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct snapshot *s = sample_snapshot();
		const cJSON *port, *waits;
		cJSON *p;

		change_lan2(s, cases[i].how);
		fake_publish(&fake, s);
		p = ask("Tx", NULL);
		port = named(at(p, "ports"), "name", "lan2");
		waits = at(port, "waits");
		assert_int_equal(cJSON_IsNull(at(port, "measured")), !cases[i].measured);
		assert_int_equal(cJSON_IsNull(waits), !cases[i].text);
		if (cases[i].text) {
			is_text(waits, "text", cases[i].text);
			assert_int_equal(cJSON_IsNull(at(waits, "left_ms")), !cases[i].timed);
		}
		cJSON_Delete(p);
	}
}

static void test_measure_tx(void **state)
{
	cJSON *p = ask("MeasureTx", "{\"port\":\"lan2\"}");
	const cJSON *m = at(p, "measured");

	is_text(p, "text", "8 frames to a doorbell");
	is_number(m, "doorbell_ps", 53100);
	is_number(at(m, "tries")->child, "took_ps", 640000);
	cJSON_Delete(p);
	cJSON_Delete(ask("MeasureTx", "{\"port\":\"lan1\",\"force\":true}"));
}

/* Who asks for more learns how far it is, and then the same; be it that it fails. */
static void test_measure_tx_in_pieces(void **state)
{
	int fd = client_connect(&fake);

	for (int good = 1; good >= 0; good--) {
		char *answer;

		client_say(fd, good ? "{\"method\":\"io.swd.Switch.MeasureTx\",\"more\":true,"
				      "\"parameters\":{\"port\":\"lan2\"}}"
				    : "{\"method\":\"io.swd.Switch.MeasureTx\",\"more\":true,"
				      "\"parameters\":{\"port\":\"lan1\"}}");
		for (int i = 0; i < 3; i++) {
			cJSON *reply, *p;

			answer = client_hear(fd);
			reply = cJSON_Parse(answer);
			assert_true(cJSON_IsTrue(cJSON_GetObjectItem(reply, "continues")));
			p = cJSON_GetObjectItem(reply, "parameters");
			shape_check("MeasureTx", p);
			assert_true(cJSON_IsNull(at(p, "measured")));
			is_number(at(p, "progress"), "done", i);
			is_number(at(p, "progress"), "total", 219);
			assert_int_equal(cJSON_IsNull(at(at(p, "progress"), "frames")), i == 0);
			is_text(p, "text",
				i == 0	 ? "listens whether others use it"
				: i == 1 ? "1 frame to a doorbell, 1 of 219 steps"
					 : "2 frames to a doorbell, 2 of 219 steps");
			cJSON_Delete(reply);
			free(answer);
		}
		answer = client_hear(fd);
		assert_null(strstr(answer, "continues"));
		assert_non_null(strstr(answer, good ? "\"progress\":null" : "NotMeasured"));
		free(answer);
	}
	close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sample_start, sample_stop)

static void until(const atomic_int *count)
{
	for (int i = 0; atomic_load(count) < 1; i++) {
		assert_true(i < 5000);
		usleep(1000);
	}
}

/* The engine hears of it with the first piece that finds nobody, and sends no more. */
static void test_who_asked_goes(void **state)
{
	int fd = client_connect(&fake);

	atomic_store(&fake.hold, true);
	atomic_store(&fake.submitted, 0);
	client_say(fd, "{\"method\":\"io.swd.Switch.MeasureTx\",\"more\":true,"
		       "\"parameters\":{\"port\":\"lan2\"}}");
	until(&fake.submitted);
	assert_int_equal(atomic_load(&fake.unwanted), 0);
	close(fd);
	cJSON_Delete(ask("Status", NULL));
	atomic_store(&fake.hold, false);
	until(&fake.unwanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_tx),
		TEST(test_a_part_that_is_not_told),
		TEST(test_what_a_measurement_waits_for),
		TEST(test_measure_tx),
		TEST(test_measure_tx_in_pieces),
		TEST(test_who_asked_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
