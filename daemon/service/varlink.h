/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * varlink: one message, in and out. A call is a JSON object {method, parameters, more, oneway,
 * upgrade}; a reply is {parameters, continues} or {error, parameters}; each ends with a NUL byte,
 * which client.c finds and adds. https://varlink.org/Method-Call
 */
#ifndef SWD_SERVICE_VARLINK_H
#define SWD_SERVICE_VARLINK_H

#include <stdint.h>

#include "config/base/jsonw.h"
#include "config/base/util.h"

struct cJSON;

#define VARLINK_METHOD_MAX 128

/* A decoded call; the pointers live in `root`. */
struct varlink_call {
	struct cJSON *root;
	const char *method; /* "io.swd.Switch.Status": letters, digits, dots and dashes */
	const struct cJSON *parameters; /* an object, or NULL */
	bool more, oneway, upgrade;
};

/*
 * Reads a message of `size` bytes, behind which a NUL must stand. 0; -ENOMEM; or -EBADMSG, and
 * *ret_why says in static words what is wrong. Unknown members, members that come twice, and more
 * than json_check() allows are wrong.
 */
int varlink_parse(const char *text, size_t size, struct varlink_call *ret, const char **ret_why);
void varlink_call_clear(struct varlink_call *call);

/* What a method takes. */
enum varlink_type {
	VARLINK_STRING,
	VARLINK_BOOL,
	VARLINK_INT, /* none of ours is negative, or above 2^53 */
};
#define VARLINK_PARAMS_MAX 5
struct varlink_param {
	const char *name; /* NULL behind the last */
	enum varlink_type type;
	bool optional; /* "?": may be null or left out */
};

/*
 * Compares parameters (may be NULL) with what a method takes. 0, or -EINVAL and *ret_bad names the
 * first that is unknown, missing or of another type; it points into the parameters or the table.
 */
int varlink_params_check(const struct varlink_param *list, const struct cJSON *parameters,
			 const char **ret_bad);
/* NULL or false if it is left out or null. */
const char *varlink_param_string(const struct cJSON *parameters, const char *name);
/* False if it is left out or null, and then *ret is untouched. */
bool varlink_param_u64(const struct cJSON *parameters, const char *name, uint64_t *ret);
bool varlink_param_bool(const struct cJSON *parameters, const char *name);

/*
 * Finished messages, the NUL included in *ret_size; the caller frees them. parameters: a writer
 * with one complete object, which is emptied; NULL: {}. 0, or -ENOMEM, or what jsonw_take() says.
 */
int varlink_reply(struct jsonw *parameters, bool continues, char **ret, size_t *ret_size);
int varlink_error(const char *error, struct jsonw *parameters, char **ret, size_t *ret_size);

#endif
