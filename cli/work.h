/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * work: what the daemon is at, and waiting for it: a load of many rules takes seconds, and a driver
 * may hold everything up.
 */
#ifndef SWD_CLI_WORK_H
#define SWD_CLI_WORK_H

#include "cli/cli.h"

struct cJSON;
struct reply;

#define WORK_TEXT 160
/* "apply, 12,000 of 100,000 steps, for 3 s, 1 apply waits"; work: a Work of the interface. */
const char *work_text(const struct cJSON *work, char to[WORK_TEXT]);

/*
 * conn_ask() for what may take as long as it likes. On a terminal it shows meanwhile, in one line
 * of standard error, how far it is, if the method has pieces that tell; else what the daemon is at.
 */
int work_wait(const struct cli *cli, const char *method, const char *parameters, struct reply *ret);

#endif
