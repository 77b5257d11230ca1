/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * build: between drafts and objects, in both directions.
 */
#ifndef SWD_YAML_BUILD_H
#define SWD_YAML_BUILD_H

#include "config/base/arena.h"
#include "config/model/config.h"
#include "config/yaml/draft.h"

/*
 * Makes the objects of a draft without errors. The config's name for messages is `file`. 0 and *ret
 * (a reference), -EEXIST if two objects have one key (check_all() finds that before), or -ENOMEM.
 */
int config_from_draft(const struct draft_root *root, const char *file, struct config **ret);

/* The draft that would make this config; it points into the config. 0 or -ENOMEM. */
int draft_from_config(const struct config *c, struct arena *a, struct draft_root **ret);

#endif
