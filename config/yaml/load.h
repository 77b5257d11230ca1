/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load: from text to meaning. The whole road: YAML events -> tree (tree.c) -> schema tables ->
 * config, then the rules across objects (check.c). Every error is found in one go.
 */
#ifndef SWD_YAML_LOAD_H
#define SWD_YAML_LOAD_H

#include "config/base/diag.h"
#include "config/model/config.h"

#define CONFIG_TEXT_MAX (64u << 20) /* bytes; more is refused before parsing */

/*
 * Reads `size` bytes of YAML. Adds all that is wrong to d; warnings may be there after success as
 * well. 0 and *ret (a reference), or -EINVAL with at least one error in d, or -ENOMEM.
 */
int config_load(const char *text, size_t size, struct diags *d, struct config **ret);

/*
 * Reads a whole file into memory the caller frees: a regular file of at most CONFIG_TEXT_MAX bytes.
 * 0 or -errno (-EFBIG, -EISDIR, -ENOENT, ...).
 */
int config_read_file(const char *path, char **ret_text, size_t *ret_size);

#endif
