// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The event loop over libev: see loop.h. Each thread has one of its own. What other threads may
 * call goes through one ev_async and an atomic flag.
 */
#include "daemon/loop.h"

#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <stdatomic.h>

#define SIGNALS_MAX 8
#define WAKES_MAX 8

struct loop_sig {
	ev_signal ev;
	loop_signal_fn fn;
	void *data;
};

struct loop_waker {
	loop_wake_fn fn;
	void *data;
};

struct loop {
	struct ev_loop *ev;
	ev_async async;
	atomic_bool stop;
	struct loop_sig signals[SIGNALS_MAX];
	size_t signal_count;
	struct loop_waker wakers[WAKES_MAX];
	size_t waker_count;
};

struct loop_io {
	ev_io ev;
	struct loop *loop;
	loop_io_fn fn;
	void *data;
};

struct loop_timer {
	ev_timer ev;
	struct loop *loop;
	loop_timer_fn fn;
	void *data;
};

static void on_async(struct ev_loop *ev, ev_async *w, int revents)
{
	struct loop *l = w->data;

	if (atomic_load(&l->stop))
		ev_break(ev, EVBREAK_ALL);
	for (size_t i = 0; i < l->waker_count; i++)
		l->wakers[i].fn(l->wakers[i].data);
}

struct loop *loop_new(void)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->ev = ev_loop_new(EVFLAG_AUTO);
	if (!l->ev) {
		free(l);
		return NULL;
	}
	ev_async_init(&l->async, on_async);
	l->async.data = l;
	ev_async_start(l->ev, &l->async);
	return l;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->signal_count; i++)
		ev_signal_stop(l->ev, &l->signals[i].ev);
	ev_async_stop(l->ev, &l->async);
	ev_loop_destroy(l->ev);
	free(l);
}

int loop_run(struct loop *l)
{
	if (!atomic_load(&l->stop))
		ev_run(l->ev, 0);
	return 0;
}

void loop_stop(struct loop *l)
{
	atomic_store(&l->stop, true);
	ev_async_send(l->ev, &l->async);
}

static int to_ev(int events)
{
	return (events & LOOP_READ ? EV_READ : 0) | (events & LOOP_WRITE ? EV_WRITE : 0);
}

static void on_io(struct ev_loop *ev, ev_io *w, int revents)
{
	struct loop_io *io = w->data;

	io->fn(w->fd, (revents & EV_READ ? LOOP_READ : 0) | (revents & EV_WRITE ? LOOP_WRITE : 0),
	       io->data);
}

struct loop_io *loop_io_new(struct loop *l, int fd, int events, loop_io_fn fn, void *data)
{
	struct loop_io *io = calloc(1, sizeof(*io));

	if (!io)
		return NULL;
	io->loop = l;
	io->fn = fn;
	io->data = data;
	ev_io_init(&io->ev, on_io, fd, to_ev(events));
	io->ev.data = io;
	if (events)
		ev_io_start(l->ev, &io->ev);
	return io;
}

void loop_io_set(struct loop_io *io, int events)
{
	int fd = io->ev.fd;

	ev_io_stop(io->loop->ev, &io->ev);
	ev_io_set(&io->ev, fd, to_ev(events));
	if (events)
		ev_io_start(io->loop->ev, &io->ev);
}

void loop_io_free(struct loop_io *io)
{
	if (!io)
		return;
	ev_io_stop(io->loop->ev, &io->ev); /* drops a pending callback too */
	free(io);
}

static void on_timer(struct ev_loop *ev, ev_timer *w, int revents)
{
	struct loop_timer *t = w->data;

	t->fn(t->data);
}

struct loop_timer *loop_timer_new(struct loop *l, loop_timer_fn fn, void *data)
{
	struct loop_timer *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->loop = l;
	t->fn = fn;
	t->data = data;
	ev_timer_init(&t->ev, on_timer, 0., 0.);
	t->ev.data = t;
	return t;
}

void loop_timer_start(struct loop_timer *t, uint64_t after_ms, uint64_t every_ms)
{
	ev_timer_stop(t->loop->ev, &t->ev);
	/* Timers count from the loop's idea of now, which is old after a long piece of work. */
	ev_now_update(t->loop->ev);
	ev_timer_set(&t->ev, (double)after_ms / 1000., (double)every_ms / 1000.);
	ev_timer_start(t->loop->ev, &t->ev);
}

void loop_timer_stop(struct loop_timer *t)
{
	ev_timer_stop(t->loop->ev, &t->ev);
}

bool loop_timer_active(const struct loop_timer *t)
{
	return ev_is_active(&t->ev);
}

void loop_timer_free(struct loop_timer *t)
{
	if (!t)
		return;
	ev_timer_stop(t->loop->ev, &t->ev);
	free(t);
}

static void on_signal(struct ev_loop *ev, ev_signal *w, int revents)
{
	struct loop_sig *s = w->data;

	s->fn(w->signum, s->data);
}

int loop_signal(struct loop *l, int signo, loop_signal_fn fn, void *data)
{
	struct loop_sig *s;

	if (l->signal_count == SIGNALS_MAX)
		return -ENOSPC;
	s = &l->signals[l->signal_count++];
	s->fn = fn;
	s->data = data;
	ev_signal_init(&s->ev, on_signal, signo);
	s->ev.data = s;
	ev_signal_start(l->ev, &s->ev);
	return 0;
}

int loop_on_wake(struct loop *l, loop_wake_fn fn, void *data)
{
	if (l->waker_count == WAKES_MAX)
		return -ENOSPC;
	l->wakers[l->waker_count++] = (struct loop_waker){ fn, data };
	return 0;
}

void loop_off_wake(struct loop *l, loop_wake_fn fn, void *data)
{
	for (size_t i = 0; i < l->waker_count; i++)
		if (l->wakers[i].fn == fn && l->wakers[i].data == data)
			l->wakers[i--] = l->wakers[--l->waker_count];
}

void loop_wake(struct loop *l)
{
	ev_async_send(l->ev, &l->async);
}
