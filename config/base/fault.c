// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Failures on demand: see fault.h. The linker is told to bring our allocations here, so that those
 * of libraries and of libc are left alone and k is the same at each run.
 */
#include "config/base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct fault own;
struct fault *fault = &own;

/* A test that named a file wants it used, or no run at all. */
__attribute__((constructor)) static void share(void)
{
	const char *path = getenv("SWD_FAULTS");
	void *page;
	int fd;

	if (!path)
		return;
	fd = open(path, O_RDWR | O_CLOEXEC);
	page = fd < 0 ? MAP_FAILED
		      : mmap(NULL, sizeof(own), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		fprintf(stderr, "SWD_FAULTS=%s: %s\n", path, strerror(errno));
		_exit(2);
	}
	close(fd);
	fault = page;
}

enum fault_how fault_at(enum fault_point point)
{
	uint32_t count;

	if (!__atomic_load_n(&fault->armed, __ATOMIC_ACQUIRE))
		return FAULT_NONE;
	count = __atomic_add_fetch(&fault->counts[point], 1, __ATOMIC_RELAXED);
	if (point != fault->point || count < fault->first || count > fault->last)
		return FAULT_NONE;
	return (enum fault_how)fault->how;
}

void fault_kill(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

int fault_fails(enum fault_point point)
{
	enum fault_how how = fault_at(point);

	if (how == FAULT_KILL)
		fault_kill();
	return how == FAULT_NONE ? 0 : fault_error();
}

/* ---- allocations: -Wl,--wrap ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *was, size_t size);
void *__real_reallocarray(void *was, size_t n, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
int __real_vasprintf(char **ret, const char *fmt, va_list ap);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *was, size_t size);
void *__wrap_reallocarray(void *was, size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap);
int __wrap_asprintf(char **ret, const char *fmt, ...);

static int no_memory(void)
{
	if (fault_fails(FAULT_MEMORY) == 0)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *__wrap_malloc(size_t size)
{
	return no_memory() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return no_memory() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *was, size_t size)
{
	return no_memory() ? NULL : __real_realloc(was, size);
}

void *__wrap_reallocarray(void *was, size_t n, size_t size)
{
	return no_memory() ? NULL : __real_reallocarray(was, n, size);
}

char *__wrap_strdup(const char *s)
{
	return no_memory() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return no_memory() ? NULL : __real_strndup(s, n);
}

int __wrap_vasprintf(char **ret, const char *fmt, va_list ap)
{
	return no_memory() ? -1 : __real_vasprintf(ret, fmt, ap);
}

int __wrap_asprintf(char **ret, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = __wrap_vasprintf(ret, fmt, ap);
	va_end(ap);
	return r;
}
