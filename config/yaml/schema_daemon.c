// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schema_daemon: swd's own settings. The defaults are those of config_new(); a test compares them.
 */
#include "config/base/log.h"
#include "config/yaml/draft.h"

static const char *level_word(unsigned int v)
{
	static const char *const words[] = {
		[LOG_LEVEL_ERROR] = "error",   [LOG_LEVEL_WARNING] = "warning",
		[LOG_LEVEL_NOTICE] = "notice", [LOG_LEVEL_INFO] = "info",
		[LOG_LEVEL_DEBUG] = "debug",
	};

	return words[v];
}

static const struct key keys[] = {
	[DAEMON_SETTLE] = {
		.name = "settle", .type = &value_duration,
		.offset = offsetof(struct draft_daemon, settle),
		.min = 0, .max = 10000, .def = "5ms",
		.doc = "how long after a repair the next one waits, because changes come in bursts",
	},
	[DAEMON_AUDIT] = {
		.name = "audit", .type = &value_duration,
		.offset = offsetof(struct draft_daemon, audit),
		.min = 1000, .max = 86400000, .def = "60s",
		.doc = "everything is read back from the kernel at least so often",
	},
	[DAEMON_PORT_WAIT] = {
		.name = "port-wait", .type = &value_duration,
		.offset = offsetof(struct draft_daemon, port_wait),
		.min = 0, .max = 600000, .def = "10s",
		.doc = "at start, how long systemd is kept waiting for ports that are not there "
		       "yet",
	},
	[DAEMON_LOG_LEVEL] = {
		.name = "log-level", .type = &value_word,
		.offset = offsetof(struct draft_daemon, log_level),
		.min = LOG_LEVEL_ERROR, .max = LOG_LEVEL_DEBUG, .word = level_word, .def = "info",
		.doc = "messages less important than this are dropped",
	},
	[DAEMON_HISTORY] = {
		.name = "history", .type = &value_uint,
		.offset = offsetof(struct draft_daemon, history),
		.min = 1, .max = HISTORY_MAX, .def = "50",
		.doc = "how many generations are kept, for sw-cli history and revert",
	},
	[DAEMON_WRITERS] = {
		.name = "writers", .type = &value_names,
		.offset = offsetof(struct draft_daemon, writers),
		.max = WRITERS_MAX, .check_name = check_group_name,
		.doc = "groups whose members may change things over the socket, beside root",
	},
};

const struct section schema_daemon = { "settings", keys, ARRAY_SIZE(keys),
				       sizeof(struct draft_daemon) };
