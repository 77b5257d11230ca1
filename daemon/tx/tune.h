/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tune: finds out how many frames should share a doorbell on a device, by sending. For 1, 2, 4 ...
 * 64 in turn, up and down, some rounds, a burst of short frames fills a ring, and the time is taken
 * in which the kernel hands them to the device; choose.h says which number is the right one.
 *
 * It is done in slices, so that whoever calls can tell others in between that it lives, and can
 * stop at any time: tune_open(), tune_step() until it is 0, tune_result(), tune_free(). It changes
 * nothing: the numbers are those of its own socket. What becomes of the result is for others.
 *
 * The frames go to 01:80:c2:00:00:01 with an EtherType for experiments: each bridge drops what goes
 * to that address (IEEE 802.1Q, 8.6.3), and it is a PAUSE frame only with the EtherType of one. So
 * they reach the other end of the cable and nobody there.
 *
 * It does not begin on a device that others use, and stops when one frame too few has left.
 */
#ifndef SWD_TX_TUNE_H
#define SWD_TX_TUNE_H

#include <stdint.h>

#include "config/base/util.h"
#include "daemon/tx/choose.h"

#define TUNE_WORDS 192

struct tune;

struct tune_options {
	bool despite_traffic; /* also on a device that others use; then a loss may go unseen */
	uint32_t rounds;      /* 1 to CHOOSE_ROUNDS; 0: 25 */
	uint32_t burst; /* frames, 64 to 8192; 0: 256. Halved where the device's queue is short */
	uint32_t quiet_ms; /* of listening to the device before the first burst; 0: 1000 */
};

enum tune_verdict {
	TUNE_RUNNING,
	TUNE_CHOSEN,
	TUNE_CANNOT,  /* this kernel rings for each frame */
	TUNE_LINK,    /* no carrier, down or gone */
	TUNE_TRAFFIC, /* others use the device */
	TUNE_LOSS,    /* fewer left than were sent, or the device counted errors or drops */
	TUNE_CROWDED, /* its queue is full after 64 frames: not the bell is what one waits for */
	TUNE_FAILED,
};

struct tune_result {
	enum tune_verdict verdict;
	char words[TUNE_WORDS]; /* a sentence with figures, for people */
	int error;		/* FAILED: -errno */
	uint32_t frames;	/* CHOSEN: to a doorbell; else 0 */
	bool noisy; /* CHOSEN: the noise is over a tenth of what a frame takes. What is chosen may
		       be too small then: better asked again when the machine has less to do */

	/* Figures, as far as it came. */
	struct samples samples; /* .rounds that are complete */
	struct choice choice;	/* of these; all 0 if there are none */
	uint32_t burst;		/* frames in each */
	uint64_t sent;		/* frames, with those of rounds that did not count */
	uint64_t left;		/* by the device's counter, others' frames too */
	uint64_t traffic;	/* frames in and out of others before it began */
};

/* options: may be NULL. Sends nothing yet. 0; -EINVAL: an option out of range; errors of
 * ring_open(). */
int tune_open(const char *dev, const struct tune_options *options, struct tune **ret);
void tune_free(struct tune *t);
DEFINE_CLEANUP(struct tune *, tune_free);

/*
 * The next slice: at most one burst, or 100 ms of waiting; a device that stalls makes it half a
 * second. Longer only while the kernel holds rtnl. 1: there is more; 0: it is over.
 */
int tune_step(struct tune *t);

struct tune_progress {
	uint32_t done, total; /* slices, roughly */
	uint32_t frames;      /* to a doorbell, that are tried now; 0: it listens */
};
void tune_progress(const struct tune *t, struct tune_progress *ret);

/* Also while it runs. Valid until the next slice. */
const struct tune_result *tune_result(const struct tune *t);
const char *tune_verdict_name(enum tune_verdict verdict); /* "chosen" */

#endif
