// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the job file; see job.h. Nothing is unescaped: the values are bytes between '=' and NUL. */
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int list_add(struct job_list *list, const char *value)
{
	if (list->n == JOB_LIST_MAX)
		return -EINVAL;
	list->at[list->n++] = value;
	return 0;
}

static int job_set(struct job *job, const char *key, const char *value)
{
	const struct {
		const char *key;
		const char **text;
	} texts[] = {
		{ "mode", &job->mode },	      { "share-fs", &job->share_fs },
		{ "root", &job->root },	      { "cwd", &job->cwd },
		{ "modules", &job->modules }, { "out", &job->out },
		{ "err", &job->err },	      { "ctl", &job->ctl },
		{ "rows", &job->rows },	      { "columns", &job->columns },
	};
	const struct {
		const char *key;
		struct job_list *list;
	} lists[] = {
		{ "arg", &job->args }, { "env", &job->env },	 { "mask", &job->masks },
		{ "see", &job->see },  { "share", &job->share },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!strcmp(key, texts[i].key)) {
			*texts[i].text = value;
			return 0;
		}
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (!strcmp(key, lists[i].key))
			return list_add(lists[i].list, value);
	}
	if (!strcmp(key, "leaks")) {
		job->leaks = !strcmp(value, "1");
		return 0;
	}
	return -EINVAL;
}

static int file_read(const char *path, char **ret, size_t *ret_len)
{
	struct stat st;
	size_t have = 0;
	ssize_t n = 0;
	char *text;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0) {
		n = -errno;
		close(fd);
		return n;
	}
	text = malloc(st.st_size + 1);
	if (!text) {
		close(fd);
		return -ENOMEM;
	}
	while (have < (size_t)st.st_size) {
		n = read(fd, text + have, st.st_size - have);
		if (n <= 0)
			break;
		have += n;
	}
	close(fd);
	if (n < 0) {
		free(text);
		return -EIO;
	}
	text[have] = '\0';
	*ret = text;
	*ret_len = have;
	return 0;
}

int job_read(const char *path, struct job *ret)
{
	struct job job = { .mode = "run", .share_fs = "hostfs", .root = "/", .cwd = "/" };
	char *text = NULL, *at, *end;
	size_t len = 0;
	int r;

	r = file_read(path, &text, &len);
	if (r < 0)
		return r;
	for (at = text, end = text + len; at < end; at += strlen(at) + 1) {
		char *key = at;

		at = strchr(key, '=');
		if (!at) {
			free(text);
			return -EINVAL;
		}
		*at++ = '\0';
		r = job_set(&job, key, at);
		if (r < 0) {
			free(text);
			return r;
		}
	}
	if (!job.ctl || !job.args.n) {
		free(text);
		return -EINVAL;
	}
	*ret = job;
	return 0;
}
