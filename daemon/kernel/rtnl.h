/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rtnl: one netlink socket and what is done with it: many requests in one send with each answer
 * matched by sequence number and port id (rtnl_exchange), whole dumps (rtnl_dump), and plain
 * reading for events (rtnl_recv). Requests, dumps and events have a socket each. It knows no
 * objects: codecs write and read the messages, kernel.c joins the two.
 *
 * The receive loop is our own, because libnl turns both ENOBUFS (news was lost) and ENOMEM into one
 * error and does not read extended acknowledgements.
 */
#ifndef SWD_KERNEL_RTNL_H
#define SWD_KERNEL_RTNL_H

#include <netlink/msg.h>
#include <stdint.h>
#include <sys/uio.h>

#include "config/base/util.h"

#define RTNL_BATCH 64		     /* messages in one send, at most */
#define RTNL_BATCH_BYTES (96 * 1024) /* and bytes */
#define RTNL_PARTS 16		     /* answers in one reading, at most */
#define RTNL_RETAKES 5		     /* of an interrupted dump */

struct rtnl {
	struct nl_sock *nl; /* NULL: a descriptor of a test */
	int protocol;
	int fd;
	uint32_t port;	/* our port id */
	uint32_t seq;	/* of the last message sent */
	int timeout_ms; /* how long an answer may take; 30 s at first */
	size_t batch;	/* messages a send: as many as the receive buffer has room for answers */
	int rcvbuf;
	void *buffer;	      /* what rtnl_recv() read */
	size_t space, wanted; /* wanted: by a datagram that did not fit, or 0 */
	/* Counted since it was opened. */
	uint64_t sends, messages, dumps;
	uint64_t strays; /* answers nobody waits for any more */
	uint64_t overruns;
};

/* protocol: NETLINK_ROUTE or NETLINK_GENERIC. rcvbuf in bytes. 0 or -errno. */
int rtnl_open(int protocol, int rcvbuf, struct rtnl **ret);
/* For tests: speaks over any datagram descriptor, which it takes over. */
int rtnl_wrap(int fd, uint32_t port, struct rtnl **ret);
void rtnl_close(struct rtnl *s);
DEFINE_CLEANUP(struct rtnl *, rtnl_close);

/* Joins a multicast group. 0 or -errno. */
int rtnl_join(struct rtnl *s, uint32_t group);

/* The kernel drops, from here on, messages of that type that a request from `port` caused. The two
 * types are all that is dropped. 0 or -errno. */
int rtnl_ignore(struct rtnl *s, uint32_t port, uint16_t type, uint16_t or_type);

/*
 * Reads one datagram into s->buffer. timeout_ms 0: does not wait. 0 with its size, or -EAGAIN
 * (nothing there), -ENOBUFS (messages were lost), -EMSGSIZE (it was longer than the buffer, which
 * grows; the message is lost), -errno. What does not come from the kernel is skipped.
 */
int rtnl_recv(struct rtnl *s, int timeout_ms, size_t *ret_size);
/* The same up to a time (monotonic); the clock is not asked while something is there. */
int rtnl_recv_by(struct rtnl *s, uint64_t deadline_ns, size_t *ret_size);
/*
 * Reads as many datagrams as are there, RTNL_PARTS at most, into parts of the buffer. 0 with them,
 * at least one, or -errno as above. One of no size was longer than its part, and is lost; the next
 * find longer parts.
 */
int rtnl_recv_parts(struct rtnl *s, uint64_t deadline_ns, struct iovec ret[RTNL_PARTS],
		    size_t *ret_count);

/* The text and the error of an NLMSG_ERROR or NLMSG_DONE. ret_words: owned by the caller, or NULL.
 */
int rtnl_ack_parse(const struct nlmsghdr *h, int *ret_error, char **ret_words);

/* One request on its way. */
struct rtnl_call {
	struct nl_msg *msg; /* the caller's */
	void *data;	    /* the caller's */
	bool sent, answered;
	int error;   /* 0 or -errno of the answer, or why it was not sent */
	char *words; /* the kernel's, or NULL; the caller frees it */
};
/* A message that is an answer to the call and no acknowledgement. h is valid during the call. */
typedef void (*rtnl_answer_fn)(struct rtnl_call *call, const struct nlmsghdr *h, void *data);

/*
 * Sends the n calls (at most RTNL_BATCH) in one send and reads until each is answered or the time
 * is over. What is sent and not answered has an unknown outcome. fn may be NULL. 0, or -errno if
 * the socket failed.
 */
int rtnl_exchange(struct rtnl *s, struct rtnl_call *calls, size_t n, rtnl_answer_fn fn, void *data);

/* A dump under way, for who reads it part by part. */
struct rtnl_taking {
	bool interrupted, lost; /* what is read of it is worth nothing */
	bool done;
	int error; /* the kernel's, or part's; then all that is left is passed over */
	unsigned int parts;
};
/* Called before each taking of a dump: what was collected is void. */
typedef void (*rtnl_restart_fn)(void *data);
/* 0, or -errno, which ends the dump with that error. */
typedef int (*rtnl_part_fn)(const struct nlmsghdr *h, void *data);

/*
 * Sends the dump request and calls part for each message. A dump that was interrupted
 * (NLM_F_DUMP_INTR on any part, the last too), or lost messages, is taken again up to RTNL_RETAKES
 * times with growing pauses; then -EAGAIN. An error of the kernel comes back as it is. -ETIMEDOUT
 * if it never ends.
 */
int rtnl_dump(struct rtnl *s, struct nl_msg *msg, rtnl_restart_fn restart, rtnl_part_fn part,
	      void *data);
/*
 * The same in parts, taken once: begin sends the request, each part reads a datagram until t->done.
 * 0 or -errno, then it is over. Who leaves it half-read must rtnl_reopen() the socket.
 */
int rtnl_dump_begin(struct rtnl *s, struct nl_msg *msg, struct rtnl_taking *ret);
int rtnl_dump_part(struct rtnl *s, struct rtnl_taking *t, rtnl_part_fn part, void *data);

#endif
