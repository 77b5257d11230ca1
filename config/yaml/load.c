// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load: the whole road from text to config. Each stage adds what is wrong and goes on as far as
 * what was read makes sense, so that a file's errors come in one go.
 */
#include "config/yaml/load.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "config/yaml/build.h"
#include "config/yaml/check.h"
#include "config/yaml/walk.h"

/*
 * True if the file says a version, and another than ours. Then nothing else in it can be judged.
 */
static bool other_version(struct reader *r, const struct node *tree)
{
	const struct node *version = node_get(tree, schema_root.keys[ROOT_VERSION].name);
	uint32_t ignored;
	size_t before;
	int err;

	if (!version)
		return false;
	before = walk_enter(r, schema_root.keys[ROOT_VERSION].name);
	err = value_uint.read(r, &schema_root.keys[ROOT_VERSION], version, &ignored);
	walk_leave(r, before);
	return err < 0;
}

static int read_draft(struct arena *arena, struct diags *d, const struct node *tree,
		      struct draft_root *root)
{
	struct reader r = { .arena = arena, .diags = d };
	int err, checked;

	if (other_version(&r, tree))
		return -EINVAL;
	err = walk_section(&r, &schema_root, tree, root);
	if (err == -ENOMEM)
		return err;
	checked = check_all(root, arena, d);
	return checked < 0 ? checked : err;
}

int config_load(const char *text, size_t size, struct diags *d, struct config **ret)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct draft_root root = { 0 };
	const struct node *tree;
	size_t errors_before = diags_errors(d);
	int r, err;

	if (!arena)
		return -ENOMEM;
	if (size > CONFIG_TEXT_MAX) {
		diags_add(d, DIAG_ERROR, (struct origin){ 0, 0 }, NULL,
			  "the file has %zu bytes, expected at most %u", size, CONFIG_TEXT_MAX);
		return -EINVAL;
	}
	r = tree_parse(text, size, arena, d, &tree);
	if (r == -ENOMEM)
		return r;
	if (tree) {
		err = read_draft(arena, d, tree, &root);
		r = r < 0 ? r : err;
	}
	diags_sort(d);
	if (r < 0 || diags_errors(d) > errors_before)
		return r < 0 ? r : -EINVAL;
	return config_from_draft(&root, diags_file(d), ret);
}

int config_read_file(const char *path, char **ret_text, size_t *ret_size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t used = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size > (off_t)CONFIG_TEXT_MAX)
		return -EFBIG;
	/* One byte more than its size: a file that grows while it is read is noticed. */
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	while (used <= (size_t)st.st_size) {
		ssize_t n = read(fd, text + used, (size_t)st.st_size + 1 - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	if (used > (size_t)st.st_size)
		return -EAGAIN;
	text[used] = 0;
	*ret_text = take(text);
	*ret_size = used;
	return 0;
}
