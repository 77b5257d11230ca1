/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What fake_kernel.c and fake_world.c share: the world and the queue of its events. */
#ifndef SWD_TESTS_UNIT_ENGINE_FAKE_WORLD_H
#define SWD_TESTS_UNIT_ENGINE_FAKE_WORLD_H

#include "config/base/fault.h"
#include "fake_kernel.h"

/* No allocation of the paper kernel's own shall fail, nor be counted. */
static inline uint32_t world_hold(void)
{
#ifdef SWD_FAULTS
	uint32_t armed = fault->armed;

	fault->armed = 0;
	return armed;
#else
	return 0;
#endif
}

static inline void world_release(const uint32_t *armed)
{
#ifdef SWD_FAULTS
	fault->armed = *armed;
#endif
}

#define _held_ _cleanup_(world_release)

struct queued {
	enum kernel_event_type type;
	struct object *object;
	char old_name[IFNAMSIZ];
	bool own;
};

/* The oldest event, taken over, or false. */
bool world_next_event(struct queued *ret);
void world_emit(enum kernel_event_type type, const void *object, bool own);
void world_put(void *object); /* takes it over */
void world_drop(const void *object);
void world_note(char sign, const struct object *o);
const struct object *world_device(const char *name);
bool world_vlan_on(const struct vlan *w);
void world_change_vlan(const struct vlan *now, const struct vlan *wanted);
void world_change_tx(const struct tx *now, const struct tx *wanted);
bool world_bound(uint32_t block);
void world_qdisc_goes(const struct qdisc *key);
void world_device_goes(const char *dev);
struct port *world_copy_port(const struct port *was);
uint32_t world_ifindex(void); /* the next one */

#endif
