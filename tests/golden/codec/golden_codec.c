// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * filters.txt in both directions: words to the bytes that swd sends, and back from those, from the
 * bytes that tc sent for the same words, and from what Linux told of tc's filter. foreign.txt the
 * second way alone. With --print the
 * bytes are printed instead, a line each, for codec_capture.py.
 */
#include <linux/rtnetlink.h>

#include "daemon/kernel/codec.h"
#include "filter_text.h"
#include "test_names.h"

static int fails;

static void complain(size_t number, const char *what)
{
	printf("FAIL entry %zu: %s\n", number, what);
	fails++;
}

static struct nl_msg *message(const struct filter *f)
{
	struct nl_msg *m = nlmsg_alloc_size(CODEC_MESSAGE_BYTES_MOST);

	if (codec_filter.put(m, KERNEL_ADD, &f->obj, NULL, &test_names) == 0)
		return m;
	nlmsg_free(m);
	return NULL;
}

static bool covers(const struct sample_bytes *b)
{
	struct nlmsghdr h;

	if (b->size < sizeof(h))
		return false;
	memcpy(&h, b->bytes, sizeof(h));
	return h.nlmsg_len <= b->size;
}

/* A hash names parameters that have no words: it is taken over from what was found. */
static void take_hashes(struct filter *wanted, const struct filter *found)
{
	struct action *w = (struct action *)(uintptr_t)filter_actions(wanted);

	for (size_t i = 0; i < MIN(wanted->action_count, found->action_count); i++)
		if (w[i].kind == ACTION_OTHER && filter_actions(found)[i].kind == ACTION_OTHER)
			w[i].other.hash = filter_actions(found)[i].other.hash;
}

/* The bytes of somebody read as the filter, but for the cookie, which only swd's own have. */
static void reads_as(const struct sample *s, size_t number, const struct sample_bytes *b,
		     const char *what, bool cookie)
{
	_cleanup_object_ struct filter *wanted = filter_copy(s->filter);
	_cleanup_object_ struct object *found = NULL;
	_cleanup_free_ void *copy = malloc(b->size);

	if (!covers(b)) {
		complain(number, "bytes cut short");
		return;
	}
	memcpy(copy, b->bytes, b->size);
	if (!cookie) {
		wanted->has_cookie = 0;
		wanted->owner = OWNER_FOREIGN;
		memset(wanted->cookie, 0, sizeof(wanted->cookie));
	}
	if (codec_filter.parse(copy, &test_names, &found) < 0 || !found) {
		complain(number, what);
		return;
	}
	take_hashes(wanted, (struct filter *)found);
	/* tc leaves a handle it was not given to the kernel. */
	if (((struct filter *)found)->handle == 0 && wanted->type == FILTER_OTHER)
		wanted->handle = 0;
	if (kind_ops(KIND_FILTER)->compare(&wanted->obj, found) != 0 ||
	    !kind_ops(KIND_FILTER)->satisfied(&wanted->obj, found) ||
	    wanted->owner != ((struct filter *)found)->owner)
		complain(number, what);
}

static bool foreign(const struct filter *f)
{
	for (size_t i = 0; i < f->action_count; i++)
		if (filter_actions(f)[i].kind == ACTION_OTHER)
			return true;
	return f->type == FILTER_OTHER;
}

static void judge_others(const struct sample *s, size_t number)
{
	reads_as(s, number, &s->sent, "`sent` reads as another filter", false);
	reads_as(s, number, &s->told, "`told` reads as another filter", false);
}

static void judge(const struct sample *s, size_t number)
{
	struct nl_msg *m = message(s->filter);

	if (foreign(s->filter)) {
		if (m)
			complain(number, "can be written, and should not");
		nlmsg_free(m);
		judge_others(s, number);
		return;
	}
	if (!m) {
		complain(number, "cannot be written");
		return;
	}
	if (nlmsg_hdr(m)->nlmsg_len != s->add.size ||
	    memcmp(nlmsg_hdr(m), s->add.bytes, s->add.size) != 0)
		complain(number, "other bytes than `add`");
	nlmsg_free(m);
	reads_as(s, number, &s->add, "`add` reads as another filter", true);
	if (s->tc[0])
		judge_others(s, number);
}

static void print(const struct sample *s)
{
	struct nl_msg *m = message(s->filter);
	const uint8_t *b = m ? (const void *)nlmsg_hdr(m) : NULL;

	for (uint32_t i = 0; b && i < nlmsg_hdr(m)->nlmsg_len; i++)
		printf("%02x", b[i]);
	printf("\n");
	nlmsg_free(m);
}

static int run(const char *path, bool printing)
{
	size_t n = 0;
	struct sample *list = samples_load(path, &n);

	if (!list || n == 0)
		return 1;
	for (size_t i = 0; i < n; i++) {
		if (printing)
			print(&list[i]);
		else
			judge(&list[i], i + 1);
	}
	if (!printing)
		printf("%s: %zu filters, %d complaints so far\n", path, n, fails);
	samples_free(list, n);
	return 0;
}

int main(int argc, char **argv)
{
	bool printing = argc > 2 && streq(argv[argc - 1], "--print");
	int r = argc < 2 ? 2 : 0;

	for (int i = 1; i < argc - printing && r == 0; i++)
		r = run(argv[i], printing);
	return r ? r : fails > 0;
}
