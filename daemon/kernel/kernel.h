/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel: the one door to the kernel for the rooms above. It owns four sockets (requests,
 * questions, a dump that is read in parts, events), the table of device names, and the codecs. Only
 * the engine thread calls it. Calls may block for as long as the kernel holds rtnl.
 */
#ifndef SWD_KERNEL_KERNEL_H
#define SWD_KERNEL_KERNEL_H

#include <stdint.h>

#include "config/model/state.h"

struct kernel;

/* Opens the sockets in the current network namespace and reads the device table. 0 or -errno. */
int kernel_open(struct kernel **ret);
void kernel_close(struct kernel *k);
/* Who we are: filters with that number in their cookie are ours, all others foreign. 0 at first. */
void kernel_set_instance(struct kernel *k, uint32_t instance);
DEFINE_CLEANUP(struct kernel *, kernel_close);

/* ---- what is there ---- */

/*
 * Reads all objects of a kind and adds them to `into`, whose objects of that kind (filters: of that
 * block) should be cleared before. An interrupted dump is taken again up to 5 times, then -EAGAIN.
 * KIND_PORT reads ports and vlans alike. For KIND_FILTER `block` names the block, whose absence is
 * no error and gives nothing; for other kinds it is ignored. Foreign filters are read as well.
 */
int kernel_dump(struct kernel *k, enum kind kind, uint32_t block, struct state *into);

/* The filters of one pref: key's block, chain, pref and protocol; pref 0: of the chain. As
 * kernel_dump(). */
int kernel_dump_pref(struct kernel *k, const struct filter *key, struct state *into);

/*
 * The filters of one block in parts, so that all else can be done in between. begin: ends what was
 * read so before. part: calls fn for each filter of the next part; 1: there is more, 0: that was
 * all; -errno: it is over, and all of it is worth nothing (-EAGAIN: it changed while it was told).
 * Linux writes a part when the one before it is fetched: it may be older than an event that was
 * read in between.
 */
typedef int (*kernel_filter_fn)(const struct filter *f, void *data); /* 0, or what ends it */
int kernel_walk_begin(struct kernel *k, uint32_t block);
int kernel_walk_part(struct kernel *k, kernel_filter_fn fn, void *data);
void kernel_walk_end(struct kernel *k); /* what is left of it is not read */

/*
 * Reads one object again by its key (port, vlan, qdisc: by name). 0 and a reference, -ENOENT if it
 * is not there, or -errno. Filters: RTM_GETTFILTER; so it is believed gone only when the kernel
 * says so.
 */
int kernel_get(struct kernel *k, const struct object *key, struct object **ret);

/* The name of an ifindex, or the ifindex of a name: NULL or 0 if there is none. From the table,
 * which dumps and events keep. */
const char *kernel_dev_name(const struct kernel *k, uint32_t ifindex);
uint32_t kernel_dev_index(const struct kernel *k, const char *name);

/* ---- changing it: only apply calls this ---- */

enum kernel_op {
	KERNEL_ADD,    /* must not be there */
	KERNEL_CHANGE, /* is there; in place. Filters: NLM_F_REPLACE with the same key */
	KERNEL_REMOVE,
};

enum kernel_outcome {
	KERNEL_NOT_SENT,
	KERNEL_DONE,
	KERNEL_REFUSED,
	KERNEL_UNKNOWN, /* no answer in time: read back before anything else is believed */
};

struct kernel_request {
	enum kernel_op op;
	const struct object *wanted; /* ADD and CHANGE */
	const struct object *found;  /* CHANGE and REMOVE: as last seen */
	/* Results. */
	enum kernel_outcome outcome;
	int error;	     /* -errno if refused, or what kept it from being sent */
	char *words;	     /* the kernel's extended-ack message, or NULL */
	struct object *echo; /* ADD and CHANGE of filters and qdiscs: what the kernel says it
				took. With EEXIST: what is there instead of .found */
};

/*
 * Carries out the requests in order, many messages in one send, each answer matched by its sequence
 * number. A refused one does not stop the others. A REMOVE of what is already gone is DONE with
 * error -ENOENT noted. Filters are read back before a REMOVE or CHANGE: if what is at the key now
 * is not ours while .found was, or the other way round, it stays; then a REMOVE is DONE and a
 * CHANGE REFUSED, both with -EEXIST. 0, or -errno if the sockets themselves failed; look at each
 * outcome.
 */
int kernel_execute(struct kernel *k, struct kernel_request *list, size_t n);
void kernel_request_clear(struct kernel_request *r); /* frees words and echo */

/* How often kernel_execute() called send, how many messages went, and how many were refused. */
struct kernel_counts {
	uint64_t sends, messages, refused, dumps, events, overruns;
};
void kernel_counts(const struct kernel *k, struct kernel_counts *ret);

/* ---- what happens ---- */

enum kernel_event_type {
	KERNEL_EVENT_NEW,  /* object: appeared or changed */
	KERNEL_EVENT_GONE, /* object: its key; a filter with handle 0 means the whole pref, and with
			    * pref 0 the whole chain */
	KERNEL_EVENT_RENAMED, /* object: the port or vlan under its new name; old_name: the one
				 before */
	KERNEL_EVENT_LOST,    /* events were lost: everything may have changed */
	KERNEL_EVENT_BYPASS,  /* the kernel's bypass of a block changed: reading */
};

/* What our kernel patch tells of one block (kmod/uapi). */
struct bypass_reading {
	uint32_t block; /* index; 0: not shared, then ifindex and parent */
	uint32_t ifindex, parent;
	uint32_t members;
	uint32_t filters, filters_sw, filters_dead;
	uint8_t bypassed;
	uint64_t packets; /* that took the bypass */
};

struct kernel_event {
	enum kernel_event_type type;
	const struct object *object; /* valid during the call; take a reference to keep it */
	const char *old_name;
	const struct bypass_reading *reading;
	bool own; /* caused by one of our own requests: then a filter comes without match and
		     actions, which its answer told */
};

/* Descriptors to watch for reading; n is at most KERNEL_EVENT_FDS. */
#define KERNEL_EVENT_FDS 3
size_t kernel_event_fds(const struct kernel *k, int fds[KERNEL_EVENT_FDS]);
/*
 * Reads what has arrived, without blocking, and calls fn for each event; at most `most` messages,
 * and true in *ret_more (may be NULL) if some may be left. 0 or -errno. ENOBUFS is an event (LOST),
 * no error.
 */
typedef void (*kernel_event_fn)(const struct kernel_event *event, void *data);
int kernel_read_events(struct kernel *k, size_t most, kernel_event_fn fn, void *data,
		       bool *ret_more);

/*
 * No more events of filters that we changed ourselves: their answers told all but what the bypass
 * of Linux 6.12 makes of them. 0 or -errno, and then they come.
 */
int kernel_ignore_own_filters(struct kernel *k);

/* ---- the bypass ---- */

enum bypass_ability {
	BYPASS_ABILITY_UNKNOWN,	 /* the probe failed: see kernel_probe_bypass() */
	BYPASS_ABILITY_NONE,	 /* the kernel classifies always */
	BYPASS_ABILITY_MARKS,	 /* a bypass whose marks stay while a proto lives (6.12) */
	BYPASS_ABILITY_READBACK, /* ours: exact, and read back */
};

/*
 * Finds out by behaviour: in a network namespace of its own, with a veth pair and packets, never by
 * version or symbol. Takes some 100 ms. *ret_how gets static words on how it was found out. Starts
 * a thread for the namespace and ends it. 0 or -errno, then UNKNOWN.
 */
int kernel_probe_bypass(enum bypass_ability *ret, const char **ret_how);

/*
 * Has that direction of the device's clsact any filters, be they of a shared block or its own? 0;
 * -ENODEV; or -errno, then it is not known.
 */
int kernel_direction_filters(struct kernel *k, const char *dev, bool egress, bool *ret_any);

/* Our patch's reading of one shared block; -ENOENT: no such block, -EOPNOTSUPP: not this kernel. */
int kernel_read_bypass(struct kernel *k, uint32_t block, struct bypass_reading *ret);

#endif
