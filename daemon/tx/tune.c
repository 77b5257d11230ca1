// SPDX-License-Identifier: GPL-2.0-or-later
/* Bursts, and the judgement whether to go on: see tune.h. */
#include "daemon/tx/tune.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "daemon/kernel/traffic.h"
#include "daemon/tx/ring.h"

#define ROUNDS 25
#define BURST 256 /* short enough that few are interrupted by others */
#define BURST_MIN RING_SHARE_MAX
#define BURST_MAX 8192
#define QUIET_MS 1000
#define SLICE_MS 100
#define DRAIN_MS 400
#define SETTLE_MS 3000	/* some devices count once a second or two */
#define NOISY 10	/* one part in so many of a frame's time */
#define TRAFFIC_MOST 50 /* frames a second that are none: neighbours that tell of themselves */

enum phase {
	PHASE_LISTEN, /* to what others do */
	PHASE_BURSTS,
	PHASE_SETTLE, /* until all that was sent is counted */
};

struct tune {
	struct tune_options o; /* with nothing left open */
	struct ring *ring;
	struct traffic *traffic;
	enum phase phase;
	uint64_t begun_ns, phase_ns; /* monotonic: the first burst, the phase */
	struct traffic_reading first;
	struct ring_counts before; /* the first burst */
	size_t round;		   /* 0: all is cold, and it does not count */
	size_t turn;
	uint32_t steps;
	uint8_t frame[60];
	struct tune_result result;
};

static const uint32_t numbers[] = { 1, 2, 4, 8, 16, 32, 64 };

_Static_assert(ARRAY_SIZE(numbers) <= CHOOSE_ROWS, "a row for each number");

static void begin(struct tune *t, enum phase phase)
{
	t->phase = phase;
	t->phase_ns = now_monotonic_ns();
}

static uint64_t ms_since(uint64_t ns)
{
	return (now_monotonic_ns() - ns) / 1000000;
}

static void nap_ms(uint64_t ms)
{
	struct timespec ts = { .tv_nsec = (long)MIN(ms, SLICE_MS) * 1000000 };

	nanosleep(&ts, NULL);
}

/* ---- ends ---- */

static int _printf_(3, 4) end(struct tune *t, enum tune_verdict verdict, const char *fmt, ...)
{
	va_list ap;

	t->result.verdict = verdict;
	va_start(ap, fmt);
	vsnprintf(t->result.words, sizeof(t->result.words), fmt, ap);
	va_end(ap);
	return 0;
}

static int failed(struct tune *t, int error, const char *what)
{
	t->result.error = error;
	return end(t, TUNE_FAILED, "%s: %s", what, strerror(-error));
}

static int no_link(struct tune *t)
{
	return end(t, TUNE_LINK, "%s", ring_state_words(ring_state(t->ring)));
}

static int chosen(struct tune *t)
{
	const struct choice *c = &t->result.choice;
	size_t row = 0;

	while (numbers[row] != c->frames)
		row++;
	t->result.frames = c->frames;
	t->result.noisy = c->noise_ps * NOISY > c->median_ps[row];
	if (row == 0)
		return end(t, TUNE_CHOSEN,
			   "1 frame to a doorbell: %.1f ns a frame, and no other number is faster "
			   "than the noise of %.1f ns%s; a doorbell, and what goes with it, "
			   "costs some %.1f ns",
			   (double)c->median_ps[0] / 1e3, (double)c->noise_ps / 1e3,
			   t->result.noisy ? ", which is much" : "", (double)c->doorbell_ps / 1e3);
	return end(t, TUNE_CHOSEN,
		   "%u frames to a doorbell: %.1f ns a frame against %.1f ns with 1; a doorbell, "
		   "and what goes with it, costs some %.1f ns",
		   c->frames, (double)c->median_ps[row] / 1e3, (double)c->median_ps[0] / 1e3,
		   (double)c->doorbell_ps / 1e3);
}

/* ---- what others do ---- */

static int listen_first(struct tune *t)
{
	uint64_t waited = ms_since(t->phase_ns);
	int r;

	if (waited < t->o.quiet_ms) {
		nap_ms(t->o.quiet_ms - waited);
		return 1;
	}
	r = ring_look(t->ring);
	if (r == 0 && ring_state(t->ring) != RING_READY)
		return no_link(t);
	if (r < 0)
		return failed(t, r, "the device did not answer");
	ring_counts(t->ring, &t->before);
	t->result.traffic = t->before.came + t->before.left;
	if (!t->o.despite_traffic && t->result.traffic * 1000 > TRAFFIC_MOST * waited)
		return end(t, TUNE_TRAFFIC, "others use it: %llu frames in and out in %.1f s",
			   (unsigned long long)t->result.traffic, (double)waited / 1e3);
	t->begun_ns = now_monotonic_ns();
	begin(t, PHASE_BURSTS);
	return 1;
}

/* ---- bursts ---- */

static size_t row_of(const struct tune *t)
{
	return t->round % 2 ? t->turn : ARRAY_SIZE(numbers) - 1 - t->turn;
}

/* The device's queue does not hold a burst: what was measured is how long one waits for it. */
static int back_off(struct tune *t)
{
	if (t->result.burst / 2 < BURST_MIN)
		return end(t, TUNE_CROWDED,
			   "its queue is full after fewer than %u frames: more of them to a "
			   "doorbell do not help",
			   t->result.burst);
	t->result.burst /= 2;
	t->result.samples.rounds = 0;
	t->result.choice = (struct choice){ 0 };
	t->round = t->turn = 0;
	return 1;
}

/* Compares with what was before the first burst. 1: go on. */
static int judge(struct tune *t, const struct ring_counts *now)
{
	uint64_t refused = now->dropped + now->unsent + now->wrong -
			   (t->before.dropped + t->before.unsent + t->before.wrong);
	uint64_t lost = now->lost - t->before.lost;

	t->result.sent = now->handed - t->before.handed;
	t->result.left = now->left - t->before.left;
	if (ring_state(t->ring) != RING_READY)
		return no_link(t);
	if (refused)
		return end(t, TUNE_LOSS, "of %llu frames the device refused %llu, which were lost",
			   (unsigned long long)(t->result.sent + refused),
			   (unsigned long long)refused);
	if (lost)
		return end(t, TUNE_LOSS, "of %llu frames the device lost %llu",
			   (unsigned long long)t->result.sent, (unsigned long long)lost);
	return 1;
}

static int burst(struct tune *t)
{
	struct samples *s = &t->result.samples;
	size_t row = row_of(t);
	struct ring_counts before, after;
	uint64_t start, took;
	int r, kicked;

	if (ring_state(t->ring) != RING_READY)
		return no_link(t);
	r = ring_share(t->ring, numbers[row]);
	if (r < 0)
		return failed(t, r, "frames to a doorbell");
	for (uint32_t i = 0; i < t->result.burst && r == 0; i++)
		r = ring_put(t->ring, t->frame, sizeof(t->frame));
	if (r < 0 && r != -EAGAIN)
		return failed(t, r, "a frame into the ring");
	ring_counts(t->ring, &before);
	start = now_monotonic_ns();
	kicked = r == 0 ? ring_kick(t->ring) : r;
	took = now_monotonic_ns() - start;
	r = ring_drain(t->ring, DRAIN_MS);
	if (r < 0 && r != -ETIMEDOUT) /* what it still holds is counted when it has left */
		return failed(t, r, "a burst");
	ring_counts(t->ring, &after);
	r = judge(t, &after);
	if (r != 1)
		return r;
	if (after.busy > before.busy || kicked == -EAGAIN)
		return back_off(t);
	if (kicked < 0)
		return failed(t, kicked, "a burst");
	if (t->round)
		s->ps[row][t->round - 1] = took * 1000 / t->result.burst;
	if (++t->turn == ARRAY_SIZE(numbers)) {
		t->turn = 0;
		begin(t, PHASE_SETTLE);
	}
	return 1;
}

/* Others that have come since. Few of their frames count as none, as before. */
static bool others_came(const struct tune *t, uint64_t theirs)
{
	return !t->o.despite_traffic &&
	       theirs * 1000 > TRAFFIC_MOST * (ms_since(t->begun_ns) + QUIET_MS);
}

static int settle(struct tune *t)
{
	struct tune_result *res = &t->result;
	struct ring_counts now;
	uint64_t theirs;
	int r = ring_look(t->ring);

	if (r < 0)
		return failed(t, r, "the device did not answer");
	ring_counts(t->ring, &now);
	r = judge(t, &now);
	if (r != 1)
		return r;
	if (res->left < res->sent) {
		if (ms_since(t->phase_ns) >= SETTLE_MS)
			return end(t, TUNE_LOSS, "of %llu frames the device counts %llu",
				   (unsigned long long)res->sent, (unsigned long long)res->left);
		nap_ms(20);
		return 1;
	}
	theirs = res->left - res->sent + now.came - t->before.came;
	if (others_came(t, theirs))
		return end(t, TUNE_TRAFFIC,
			   "others use it: %llu frames in and out beside %llu of our own",
			   (unsigned long long)theirs, (unsigned long long)res->sent);
	if (t->round++) {
		res->samples.rounds++;
		choose(&res->samples, &res->choice);
	}
	if (res->samples.rounds == t->o.rounds)
		return chosen(t);
	begin(t, PHASE_BURSTS);
	return 1;
}

int tune_step(struct tune *t)
{
	if (t->result.verdict != TUNE_RUNNING)
		return 0;
	t->steps++;
	switch (t->phase) {
	case PHASE_LISTEN:
		return listen_first(t);
	case PHASE_BURSTS:
		return burst(t);
	case PHASE_SETTLE:
		return settle(t);
	}
	return 0;
}

/* ---- birth, death, and what is told ---- */

static void make_frame(struct tune *t)
{
	static const uint8_t nobody[6] = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 };
	static const char text[] = "swd measures its own transmit rate";

	memcpy(t->frame, nobody, 6);
	memcpy(t->frame + 6, t->first.mac, 6);
	t->frame[12] = 0x88; /* the first of two EtherTypes for experiments */
	t->frame[13] = 0xb5;
	memcpy(t->frame + 14, text, sizeof(text));
}

static int fill_options(struct tune *t, const struct tune_options *options)
{
	if (options)
		t->o = *options;
	t->o.rounds = t->o.rounds ? t->o.rounds : ROUNDS;
	t->o.burst = t->o.burst ? t->o.burst : BURST;
	t->o.quiet_ms = t->o.quiet_ms ? t->o.quiet_ms : QUIET_MS;
	if (t->o.rounds > CHOOSE_ROUNDS || t->o.burst < BURST_MIN || t->o.burst > BURST_MAX)
		return -EINVAL;
	t->result.burst = t->o.burst;
	t->result.samples.rows = ARRAY_SIZE(numbers);
	memcpy(t->result.samples.frames, numbers, sizeof(numbers));
	return 0;
}

static int start(struct tune *t, const char *dev)
{
	struct ring_options ring = { .slots = t->o.burst, .bypass = true };
	int r = ring_open(dev, &ring, &t->ring);

	if (r == 0)
		r = traffic_open(&t->traffic);
	if (r < 0)
		return r;
	r = traffic_read(t->traffic, ring_ifindex(t->ring), &t->first);
	if (r < 0)
		return r;
	make_frame(t);
	begin(t, PHASE_LISTEN);
	r = ring_share(t->ring, 1);
	if (r == -EOPNOTSUPP) {
		end(t, TUNE_CANNOT, "this kernel rings for each frame: there is nothing to choose");
		r = 0;
	} else if (r == 0 && ring_state(t->ring) != RING_READY) {
		no_link(t);
	}
	return r;
}

int tune_open(const char *dev, const struct tune_options *options, struct tune **ret)
{
	struct tune *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	r = fill_options(t, options);
	if (r == 0)
		r = start(t, dev);
	if (r < 0) {
		tune_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

void tune_free(struct tune *t)
{
	if (!t)
		return;
	ring_close(t->ring);
	traffic_close(t->traffic);
	free(t);
}

void tune_progress(const struct tune *t, struct tune_progress *ret)
{
	uint32_t listening = (t->o.quiet_ms + SLICE_MS - 1) / SLICE_MS + 1;
	uint32_t total = listening + (t->o.rounds + 1) * (uint32_t)(ARRAY_SIZE(numbers) + 1);

	*ret = (struct tune_progress){
		.done = t->result.verdict == TUNE_RUNNING ? MIN(t->steps, total - 1) : total,
		.total = total,
		.frames = t->phase == PHASE_LISTEN ? 0 : numbers[row_of(t)],
	};
}

const struct tune_result *tune_result(const struct tune *t)
{
	return &t->result;
}

const char *tune_verdict_name(enum tune_verdict verdict)
{
	switch (verdict) {
	case TUNE_RUNNING:
		return "running";
	case TUNE_CHOSEN:
		return "chosen";
	case TUNE_CANNOT:
		return "cannot";
	case TUNE_LINK:
		return "link";
	case TUNE_TRAFFIC:
		return "traffic";
	case TUNE_LOSS:
		return "loss";
	case TUNE_CROWDED:
		return "crowded";
	case TUNE_FAILED:
		return "failed";
	}
	return NULL;
}
