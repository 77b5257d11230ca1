// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A netlink socket: opening, sending, reading one datagram, and reading acknowledgements. The two
 * longer conversations over it are in exchange.c and dump.c.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <poll.h>
#include <sys/socket.h>

#include "daemon/kernel/rtnl.h"
#include "daemon/kernel/rtnl_send.h"

#define BUFFER_START (RTNL_PARTS * 8192) /* an answer is at most a page, or 8 KiB, long */
#define BUFFER_MOST (4 * 1024 * 1024)
#define TIMEOUT_MS 30000
/* What an answer with an echo takes of the receive buffer, as the kernel counts it (skb truesize).
 */
#define ANSWER_COST 9000

#ifndef NETLINK_GET_STRICT_CHK
#define NETLINK_GET_STRICT_CHK 12
#endif

static void set_buffers(struct rtnl *s, int rcvbuf)
{
	int sndbuf = 2 * RTNL_BATCH_BYTES, got = 0;
	socklen_t len = sizeof(got);

	/* The forced ones need CAP_NET_ADMIN over the machine; in a container we live with less. */
	if (setsockopt(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf, sizeof(rcvbuf)) < 0)
		setsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	if (setsockopt(s->fd, SOL_SOCKET, SO_SNDBUFFORCE, &sndbuf, sizeof(sndbuf)) < 0)
		setsockopt(s->fd, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));
	if (getsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &got, &len) < 0)
		got = 0;
	s->batch = (size_t)(got / ANSWER_COST);
	s->batch = MAX(s->batch, (size_t)1);
	s->batch = MIN(s->batch, (size_t)RTNL_BATCH);
}

static int nl_errno(int nle)
{
	/* libnl's own numbers; errno still has what the system call said, where there was one. */
	if (nle >= 0)
		return 0;
	return errno > 0 ? -errno : -EIO;
}

int rtnl_reopen(struct rtnl *s)
{
	int one = 1, r;

	if (!s->nl)
		return 0;
	nl_close(s->nl);
	errno = 0;
	r = nl_connect(s->nl, s->protocol);
	if (r < 0)
		return nl_errno(r);
	s->fd = nl_socket_get_fd(s->nl);
	s->port = nl_socket_get_local_port(s->nl);
	set_buffers(s, s->rcvbuf);
	/* None of these is missing since Linux 4.20, and none is needed to work. */
	setsockopt(s->fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(s->fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
	setsockopt(s->fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &one, sizeof(one));
	return 0;
}

static struct rtnl *rtnl_new(void)
{
	struct rtnl *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->fd = -1;
	s->timeout_ms = TIMEOUT_MS;
	s->batch = RTNL_BATCH;
	s->space = BUFFER_START;
	s->buffer = malloc(s->space);
	if (!s->buffer) {
		free(s);
		return NULL;
	}
	return s;
}

int rtnl_open(int protocol, int rcvbuf, struct rtnl **ret)
{
	_cleanup_(rtnl_closep) struct rtnl *s = rtnl_new();
	int r;

	if (!s)
		return -ENOMEM;
	s->nl = nl_socket_alloc();
	if (!s->nl)
		return -ENOMEM;
	s->protocol = protocol;
	s->rcvbuf = rcvbuf;
	r = rtnl_reopen(s);
	if (r < 0)
		return r;
	*ret = take(s);
	return 0;
}

int rtnl_wrap(int fd, uint32_t port, struct rtnl **ret)
{
	struct rtnl *s = rtnl_new();

	if (!s)
		return -ENOMEM;
	s->fd = fd;
	s->port = port;
	*ret = s;
	return 0;
}

void rtnl_close(struct rtnl *s)
{
	if (!s)
		return;
	if (s->nl)
		nl_socket_free(s->nl);
	else if (s->fd >= 0)
		close(s->fd);
	free(s->buffer);
	free(s);
}

int rtnl_join(struct rtnl *s, uint32_t group)
{
	if (setsockopt(s->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
		return -errno;
	return 0;
}

int rtnl_ignore(struct rtnl *s, uint32_t port, uint16_t type, uint16_t or_type)
{
	/* Classic BPF reads words as from the wire, most significant byte first. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_pid)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(port), 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_type)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(type), 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(or_type), 1, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { ARRAY_SIZE(code), code };

	if (setsockopt(s->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0)
		return -errno;
	return 0;
}

/* Sends n messages as one datagram; the caller has set sequence numbers and flags. */
int rtnl_send(struct rtnl *s, struct nl_msg *const *msgs, size_t n)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct iovec iov[RTNL_BATCH];
	struct msghdr hdr = { .msg_iov = iov, .msg_iovlen = n };
	ssize_t sent;

	if (n > RTNL_BATCH)
		return -E2BIG;
	for (size_t i = 0; i < n; i++) {
		struct nlmsghdr *h = nlmsg_hdr(msgs[i]);

		iov[i].iov_base = h;
		iov[i].iov_len = NLMSG_ALIGN(h->nlmsg_len);
	}
	if (s->nl) {
		hdr.msg_name = &kernel;
		hdr.msg_namelen = sizeof(kernel);
	}
	do {
		sent = sendmsg(s->fd, &hdr, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return -errno;
	s->sends++;
	s->messages += n;
	return 0;
}

static int wait_readable(struct rtnl *s, uint64_t deadline_ns)
{
	for (;;) {
		struct pollfd p = { .fd = s->fd, .events = POLLIN };
		uint64_t now = now_monotonic_ns();
		int ms, r;

		if (now >= deadline_ns)
			return -EAGAIN;
		ms = (int)MIN((deadline_ns - now + 999999) / 1000000, (uint64_t)60000);
		r = poll(&p, 1, ms);
		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return -errno;
	}
}

/* After a datagram that did not fit: the next one of that size will. */
static void grow_buffer(struct rtnl *s)
{
	size_t space = s->space;
	void *bigger;

	while (space < s->wanted && space < BUFFER_MOST)
		space *= 2;
	s->wanted = 0;
	if (space == s->space)
		return;
	bigger = realloc(s->buffer, space);
	if (!bigger)
		return;
	s->buffer = bigger;
	s->space = space;
}

int rtnl_recv(struct rtnl *s, int timeout_ms, size_t *ret_size)
{
	int r = rtnl_recv_by(s, 0, ret_size);

	if (r != -EAGAIN || timeout_ms == 0)
		return r;
	return rtnl_recv_by(s, now_monotonic_ns() + (uint64_t)timeout_ms * 1000000, ret_size);
}

/* Waits for the first of n datagrams at most. Their number, or -errno. */
static int receive(struct rtnl *s, struct mmsghdr *list, size_t n, uint64_t deadline_ns)
{
	for (;;) {
		int r, got = recvmmsg(s->fd, list, (unsigned int)n, MSG_DONTWAIT | MSG_TRUNC, NULL);

		if (got >= 0)
			return got;
		if (errno == EINTR)
			continue;
		if (errno == ENOBUFS)
			s->overruns++;
		if (errno != EAGAIN || deadline_ns == 0)
			return -errno;
		r = wait_readable(s, deadline_ns);
		if (r < 0)
			return r;
	}
}

/* Reads up to `most` datagrams into as many parts of the buffer. What is not the kernel's is left
 * out, so that there may be none. */
static int recv_some(struct rtnl *s, uint64_t deadline_ns, size_t most, struct iovec *ret,
		     size_t *ret_count)
{
	struct mmsghdr list[RTNL_PARTS];
	struct sockaddr_nl from[RTNL_PARTS];
	size_t space, n = 0;
	int got;

	grow_buffer(s);
	space = s->space / most;
	for (size_t i = 0; i < most; i++) {
		ret[i] = (struct iovec){ (uint8_t *)s->buffer + i * space, space };
		from[i].nl_pid = 0;
		list[i].msg_hdr = (struct msghdr){
			.msg_name = &from[i],
			.msg_namelen = sizeof(from[i]),
			.msg_iov = &ret[i],
			.msg_iovlen = 1,
		};
	}
	got = receive(s, list, most, deadline_ns);
	if (got < 0)
		return got;
	for (int i = 0; i < got; i++) {
		size_t size = list[i].msg_len;

		if (size == 0 && !s->nl && n == 0)
			return -ECONNRESET;
		/* Any process may send to our port; only port 0 is the kernel. */
		if (s->nl && from[i].nl_pid != 0) {
			s->strays++;
			continue;
		}
		if (size > space || list[i].msg_hdr.msg_flags & MSG_TRUNC) {
			s->wanted = MAX(s->wanted, size * most);
			size = 0;
		}
		ret[n++] = (struct iovec){ ret[i].iov_base, size };
	}
	*ret_count = n;
	return 0;
}

int rtnl_recv_by(struct rtnl *s, uint64_t deadline_ns, size_t *ret_size)
{
	struct iovec part;
	size_t n = 0;

	while (n == 0) {
		int r = recv_some(s, deadline_ns, 1, &part, &n);

		if (r < 0)
			return r;
	}
	if (part.iov_len == 0)
		return -EMSGSIZE;
	*ret_size = part.iov_len;
	return 0;
}

int rtnl_recv_parts(struct rtnl *s, uint64_t deadline_ns, struct iovec ret[RTNL_PARTS],
		    size_t *ret_count)
{
	size_t n = 0;

	while (n == 0) {
		int r = recv_some(s, deadline_ns, RTNL_PARTS, ret, &n);

		if (r < 0)
			return r;
	}
	*ret_count = n;
	return 0;
}

static char *words_of(const void *at, size_t left)
{
	const struct nlattr *a = at;
	int rest = (int)left;

	for (; nla_ok(a, rest); a = nla_next(a, &rest)) {
		if (nla_type(a) != NLMSGERR_ATTR_MSG || nla_len(a) <= 0)
			continue;
		return strndup(nla_data(a), (size_t)nla_len(a));
	}
	return NULL;
}

int rtnl_ack_parse(const struct nlmsghdr *h, int *ret_error, char **ret_words)
{
	const uint8_t *data = nlmsg_data(h);
	size_t size = (size_t)nlmsg_datalen(h), skip = sizeof(int);
	int error;

	if (h->nlmsg_len < NLMSG_HDRLEN + sizeof(int))
		return -EBADMSG;
	memcpy(&error, data, sizeof(error));
	if (h->nlmsg_type == NLMSG_ERROR) {
		struct nlmsgerr err;

		if (size < sizeof(err))
			return -EBADMSG;
		memcpy(&err, data, sizeof(err));
		skip = sizeof(err);
		/* Without NLM_F_CAPPED the whole request comes back in front of the attributes. */
		if (!(h->nlmsg_flags & NLM_F_CAPPED) && err.msg.nlmsg_len > NLMSG_HDRLEN)
			skip += NLMSG_ALIGN((size_t)err.msg.nlmsg_len - NLMSG_HDRLEN);
	}
	*ret_error = error > 0 ? -error : error;
	*ret_words = NULL;
	if (h->nlmsg_flags & NLM_F_ACK_TLVS && skip < size)
		*ret_words = words_of(data + skip, size - skip);
	return 0;
}
