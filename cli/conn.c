// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/conn.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cli/json.h"
#include "cli/out_text.h"
#include "config/base/jsonw.h"

#define REPLY_MAX (1u << 30)

struct conn {
	int fd;
	char *in;
	size_t start, end, space;
};

int conn_open(const char *path, struct conn **ret)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = -1;
	struct conn *c;

	if (!copy_name(addr.sun_path, sizeof(addr.sun_path), path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->fd = fd;
	fd = -1;
	*ret = c;
	return 0;
}

void conn_close(struct conn *c)
{
	if (!c)
		return;
	close(c->fd);
	free(c->in);
	free(c);
}

static int send_all(int fd, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t n = send(fd, text, size, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

int conn_call(struct conn *c, const char *method, const char *parameters, bool more)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	_cleanup_free_ char *text = NULL;
	size_t size;
	int err;

	if (!w)
		return -ENOMEM;
	jsonw_object(w);
	jsonw_key_string(w, "method", method);
	if (parameters) {
		jsonw_key(w, "parameters");
		jsonw_raw(w, parameters);
	}
	if (more)
		jsonw_key_bool(w, "more", true);
	jsonw_object_end(w);
	err = jsonw_take(w, &text, &size);
	return err < 0 ? err : send_all(c->fd, text, size + 1);
}

static int receive(struct conn *c, int wait_ms)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	ssize_t n;
	int ready;

	if (c->start > 0) {
		memmove(c->in, c->in + c->start, c->end - c->start);
		c->end -= c->start;
		c->start = 0;
	}
	if (c->space - c->end < 65536) {
		size_t space = MAX(c->space * 2, (size_t)131072);
		char *in = space <= REPLY_MAX ? realloc(c->in, space) : NULL;

		if (!in)
			return -ENOMEM;
		c->in = in;
		c->space = space;
	}
	ready = poll(&p, 1, wait_ms);
	if (ready == 0)
		return -ETIMEDOUT;
	if (ready < 0)
		return errno == EINTR ? 0 : -errno;
	n = recv(c->fd, c->in + c->end, c->space - c->end, 0);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	c->end += (size_t)n;
	return 0;
}

static int parse(const char *text, struct reply *ret)
{
	struct reply r = { .root = json_read(text) };

	if (!r.root)
		return -EBADMSG;
	r.parameters = json_get(r.root, "parameters");
	r.continues = json_true(r.root, "continues");
	if (json_get(r.root, "error"))
		r.error = json_text(r.root, "error");
	*ret = r;
	return 0;
}

void reply_clear(struct reply *r)
{
	json_free(r->root);
	*r = (struct reply){ 0 };
}

int conn_reply(struct conn *c, int wait_ms, struct reply *ret)
{
	size_t seen = c->start;

	for (;;) {
		char *end = c->in ? memchr(c->in + seen, 0, c->end - seen) : NULL;
		int err;

		if (end) {
			const char *text = c->in + c->start;

			c->start = (size_t)(end + 1 - c->in);
			return parse(text, ret);
		}
		seen = c->end - c->start; /* receive() moves what is left to the front */
		err = receive(c, wait_ms);
		if (err < 0)
			return err;
	}
}

bool conn_readable(const struct conn *c, int wait_ms)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	return c->end > c->start || poll(&p, 1, wait_ms) != 0;
}

static int not_reachable(const struct cli *cli, int err)
{
	if (err == -ENOENT || err == -ECONNREFUSED)
		cli_complain("no swd at %s: %s", cli->socket, strerror(-err));
	else if (err == -ETIMEDOUT)
		cli_complain("swd at %s does not answer", cli->socket);
	else if (err == -ECONNRESET || err == -EPIPE)
		cli_complain("swd at %s closed the connection", cli->socket);
	else if (err == -EBADMSG)
		cli_complain("what answers at %s is no Varlink service", cli->socket);
	else
		cli_complain("%s: %s", cli->socket, strerror(-err));
	return CLI_NOT_REACHABLE;
}

int conn_follow(const struct cli *cli, struct conn *c, int wait_ms, struct reply *ret)
{
	int err = conn_reply(c, wait_ms, ret);

	if (err < 0)
		return not_reachable(cli, err);
	if (!ret->error)
		return CLI_DONE;
	if (cli->json) {
		json_print(ret->root, 0, stdout);
		putchar('\n');
	}
	if (!cli->quiet)
		text_error(ret->error, ret->parameters);
	return streq(ret->error, "io.swd.Switch.NeedsGap") ? CLI_GAP : CLI_FAILED;
}

int conn_begin(const struct cli *cli, const char *method, const char *parameters, bool more,
	       struct conn **ret)
{
	_cleanup_(conn_closep) struct conn *c = NULL;
	int err = conn_open(cli->socket, &c);

	if (err == 0)
		err = conn_call(c, method, parameters, more);
	if (err < 0)
		return not_reachable(cli, err);
	*ret = take(c);
	return CLI_DONE;
}

int conn_ask(const struct cli *cli, const char *method, const char *parameters, bool more,
	     int wait_ms, struct conn **ret_conn, struct reply *ret)
{
	_cleanup_(conn_closep) struct conn *c = NULL;
	int code = conn_begin(cli, method, parameters, more, &c);

	if (code != CLI_DONE)
		return code;
	code = conn_follow(cli, c, wait_ms, ret);
	if (ret_conn)
		*ret_conn = take(c);
	return code;
}
