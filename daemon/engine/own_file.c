// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/engine/own_file.h"

#include <errno.h>

#include "config/yaml/load.h"
#include "daemon/engine/owner.h"
#include "daemon/engine/trial.h"

static bool is_seen(const struct own_file *f, const struct stat *st)
{
	return f->known && f->seen.st_ino == st->st_ino && f->seen.st_dev == st->st_dev &&
	       f->seen.st_size == st->st_size && f->seen.st_mtim.tv_sec == st->st_mtim.tv_sec &&
	       f->seen.st_mtim.tv_nsec == st->st_mtim.tv_nsec;
}

static int read_hash(const char *path, struct own_file *f)
{
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t size;
	int r;

	/* Written to meanwhile, it has another time at the next look. */
	if (stat(path, &st) < 0)
		return -errno;
	if (is_seen(f, &st))
		return 0;
	f->known = false;
	r = config_read_file(path, &text, &size);
	if (r < 0)
		return r;
	f->hash = trial_hash(text, size);
	f->seen = st;
	f->known = true;
	return 0;
}

void own_file_look(struct engine_owner *o)
{
	int r = 0;

	if (o->config) {
		pulse_wait(o->pulse);
		r = read_hash(o->config_path, &o->own_file);
		pulse_go(o->pulse);
	}
	if (r < 0)
		o->own_file.state = OWN_FILE_GONE;
	else if (o->config && o->own_file.hash != o->text_hash)
		o->own_file.state = OWN_FILE_OTHER;
	else
		o->own_file.state = OWN_FILE_SAME;
}

const char *own_file_name(enum own_file_state s)
{
	switch (s) {
	case OWN_FILE_SAME:
		return "same";
	case OWN_FILE_OTHER:
		return "other";
	case OWN_FILE_GONE:
		return "gone";
	}
	return "?";
}
