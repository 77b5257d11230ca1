// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What sysfs has of how a device sends: see tx.h. The doorbell is one file of the device; byte
 * queue limits are two files of each of its queues, where Linux keeps such (CONFIG_BQL; since 6.9
 * not for devices that have no queue).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "config/base/units.h"
#include "daemon/kernel/tx.h"

#define FLUSH_FILE "tx_doorbell_frames" /* of our kernel patch */
#define QUEUES_MOST 65536
#define NUMBER_TEXT 24

static const char *const limit_files[2] = { "limit_min", "limit_max" };

/* One of a device's files, or of one of its queues. */
struct place {
	int dir; /* of the device */
	char file[96];
};

static void limit_place(struct place *p, uint32_t queue, unsigned int i)
{
	snprintf(p->file, sizeof(p->file), "queues/tx-%u/byte_queue_limits/%s", queue,
		 limit_files[i]);
}

static int read_number(const struct place *p, uint32_t *ret)
{
	_cleanup_close_ int fd = openat(p->dir, p->file, O_RDONLY | O_CLOEXEC);
	char text[NUMBER_TEXT];
	uint64_t v;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (parse_u64(text, 0, UINT32_MAX, &v) < 0)
		return -EBADMSG;
	*ret = (uint32_t)v;
	return 0;
}

static int write_number(const struct place *p, uint32_t v)
{
	_cleanup_close_ int fd = openat(p->dir, p->file, O_WRONLY | O_CLOEXEC);
	char text[NUMBER_TEXT];
	int n = snprintf(text, sizeof(text), "%u\n", v);

	if (fd < 0)
		return -errno;
	return write(fd, text, (size_t)n) < 0 ? -errno : 0;
}

static int open_device(const char *net, const char *dev, struct place *ret)
{
	char path[128];
	int n = snprintf(path, sizeof(path), "%s/%s", net, dev);

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	ret->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return ret->dir < 0 ? -errno : 0;
}

/* ---- reading ---- */

static int read_flush(struct place *p, const char *dev, struct tx **ret)
{
	struct tx *t = tx_new(dev, TX_FLUSH, 0);

	if (!t)
		return -ENOMEM;
	snprintf(p->file, sizeof(p->file), FLUSH_FILE);
	t->has = read_number(p, &t->value[0]) == 0;
	*ret = t;
	return 0;
}

static uint32_t count_queues(struct place *p)
{
	struct stat st;
	uint32_t n = 0;

	for (; n < QUEUES_MOST; n++) {
		limit_place(p, n, 0);
		if (fstatat(p->dir, p->file, &st, 0) < 0)
			break;
	}
	return n;
}

/* Queues may go while they are read: then the device has as many as could be. */
static int read_bql(struct place *p, const char *dev, struct tx **ret)
{
	struct tx *t = tx_new(dev, TX_BQL, count_queues(p));

	if (!t)
		return -ENOMEM;
	for (uint32_t q = 0; q < t->queues; q++) {
		for (unsigned int i = 0; i < 2; i++) {
			limit_place(p, q, i);
			if (read_number(p, &t->queue[q][i]) < 0)
				t->queues = q;
		}
	}
	if (t->queues) {
		t->has = 3;
		memcpy(t->value, t->queue[0], sizeof(t->queue[0]));
	}
	*ret = t;
	return 0;
}

int tx_sysfs_read(const char *net, const char *dev, enum tx_part part, struct tx **ret)
{
	struct place p;
	int r = open_device(net, dev, &p);

	if (r < 0)
		return r;
	r = part == TX_FLUSH ? read_flush(&p, dev, ret) : read_bql(&p, dev, ret);
	close(p.dir);
	return r;
}

/* ---- setting ---- */

/* One value of one queue, if it is wanted and other than it is. */
static int set_limit(struct place *p, const struct tx *wanted, const struct tx *now, uint32_t q,
		     unsigned int i)
{
	if (!(wanted->has & 1u << i) || tx_value(wanted, i, q) == tx_value(now, i, q))
		return 0;
	limit_place(p, q, i);
	return write_number(p, tx_value(wanted, i, q));
}

/* All queues or none. */
static int set_bql(struct place *p, const struct tx *wanted, const struct tx *now)
{
	int r = 0;

	if (!now->queues)
		return -EOPNOTSUPP;
	for (uint32_t q = 0; q < now->queues && r == 0; q++)
		for (unsigned int i = 0; i < 2 && r == 0; i++)
			r = set_limit(p, wanted, now, q, i);
	for (uint32_t q = 0; q < now->queues && r < 0; q++) {
		for (unsigned int i = 0; i < 2; i++) {
			limit_place(p, q, i);
			if (wanted->has & 1u << i)
				write_number(p, tx_value(now, i, q));
		}
	}
	return r;
}

int tx_sysfs_set(const char *net, const struct tx *wanted)
{
	_cleanup_object_ struct tx *now = NULL;
	struct place p;
	int r = open_device(net, wanted->dev, &p);

	if (r < 0)
		return r == -ENOENT ? -ENODEV : r;
	if (wanted->part == TX_FLUSH) {
		snprintf(p.file, sizeof(p.file), FLUSH_FILE);
		r = write_number(&p, wanted->value[0]);
		r = r == -ENOENT ? -EOPNOTSUPP : r;
	} else {
		/* There may be more queues by now than were found. */
		r = read_bql(&p, wanted->dev, &now);
		if (r == 0)
			r = set_bql(&p, wanted, now);
	}
	close(p.dir);
	return r;
}
