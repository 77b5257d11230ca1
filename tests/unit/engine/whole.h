/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * whole: a whole file by chance: ports, VLANs on ports and on each other, addresses, blocks with
 * what they bind, and rules (tests/unit/policy/written.h); and a little edit of it.
 */
#ifndef SWD_TESTS_UNIT_ENGINE_WHOLE_H
#define SWD_TESTS_UNIT_ENGINE_WHOLE_H

#include "tests/unit/policy/written.h"

/* Devices: lan1 to lan6 and eth0 are there, v0 to v3 are VLANs. */
#define WHOLE_PORTS 7
#define WHOLE_VLANS 4
#define WHOLE_DEVS (WHOLE_PORTS + WHOLE_VLANS)
#define WHOLE_BLOCKS 3
#define WHOLE_PACKETS 24

struct whole_dev {
	bool said;
	int8_t up, offload; /* -1: not said */
	uint16_t mtu;	    /* 0: not said */
	uint8_t addresses;  /* bits */
	/* Of a VLAN. */
	uint8_t link;
	uint16_t id;
	bool ad;
};

struct whole_block {
	bool said;
	uint32_t id;
	uint16_t bind, bind_egress; /* bits: devices */
	struct written_block rules;
};

struct whole {
	struct whole_dev devs[WHOLE_DEVS];
	struct whole_block blocks[WHOLE_BLOCKS];
	struct packet packets[WHOLE_PACKETS];
};

const char *whole_dev_name(size_t dev);
/* A file that the language takes; after one: a little edit of it. The caller clears it. */
void whole_random(struct dice *d, const struct whole *after, uint32_t *id, struct whole *ret);
struct whole whole_copy(const struct whole *w);
void whole_clear(struct whole *w);
/* Ended by NUL; the caller frees it. */
char *whole_yaml(const struct whole *w);
/* Takes away the i-th thing there is (a rule, a block, a device, something it says); false: there
 * are not so many. */
bool whole_take(struct whole *w, size_t i);

#endif
