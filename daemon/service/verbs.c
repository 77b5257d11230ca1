// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The order of refusals: a message we can't read, a method we don't have, a peer who may not,
 * parameters that don't fit. Who may not learns nothing about parameters.
 */
#include "daemon/service/verbs.h"

#include <errno.h>

#include "daemon/service/client.h"
#include "daemon/service/serving.h"

static const struct verb table[] = {
	{ ORG_VARLINK "GetInfo", ACCESS_NONE, false, { { NULL } }, verb_get_info },
	{ ORG_VARLINK "GetInterfaceDescription",
	  ACCESS_NONE,
	  false,
	  { { "interface", VARLINK_STRING, false } },
	  verb_get_interface_description },
	{ IO_SWD "Status", ACCESS_READ, false, { { NULL } }, verb_status },
	{ IO_SWD "Ports", ACCESS_READ, false, { { NULL } }, verb_ports },
	{ IO_SWD "Tx", ACCESS_READ, false, { { NULL } }, verb_tx },
	{ IO_SWD "MeasureTx",
	  ACCESS_WRITE,
	  false,
	  { { "port", VARLINK_STRING, false }, { "force", VARLINK_BOOL, true } },
	  verb_measure_tx },
	{ IO_SWD "Blocks", ACCESS_READ, false, { { NULL } }, verb_blocks },
	{ IO_SWD "Rules", ACCESS_READ, false, { { "block", VARLINK_STRING, true } }, verb_rules },
	{ IO_SWD "Bypass", ACCESS_READ, false, { { "block", VARLINK_STRING, true } }, verb_bypass },
	{ IO_SWD "Audit", ACCESS_READ, false, { { "block", VARLINK_STRING, true } }, verb_audit },
	{ IO_SWD "Check",
	  ACCESS_READ,
	  false,
	  { { "text", VARLINK_STRING, false }, { "name", VARLINK_STRING, true } },
	  verb_check },
	{ IO_SWD "Plan",
	  ACCESS_READ,
	  false,
	  { { "text", VARLINK_STRING, true }, { "name", VARLINK_STRING, true } },
	  verb_plan },
	{ IO_SWD "Apply",
	  ACCESS_WRITE,
	  false,
	  { { "text", VARLINK_STRING, true },
	    { "name", VARLINK_STRING, true },
	    { "confirm_ms", VARLINK_INT, true },
	    { "why", VARLINK_STRING, true },
	    { "allow_gap", VARLINK_BOOL, true } },
	  verb_apply },
	{ IO_SWD "Confirm", ACCESS_WRITE, false, { { NULL } }, verb_confirm },
	{ IO_SWD "Revert",
	  ACCESS_WRITE,
	  false,
	  { { "generation", VARLINK_INT, true },
	    { "confirm_ms", VARLINK_INT, true },
	    { "why", VARLINK_STRING, true },
	    { "allow_gap", VARLINK_BOOL, true } },
	  verb_revert },
	{ IO_SWD "History", ACCESS_READ, false, { { NULL } }, verb_history },
	{ IO_SWD "Generation",
	  ACCESS_READ,
	  false,
	  { { "generation", VARLINK_INT, true } },
	  verb_generation },
	{ IO_SWD "Export",
	  ACCESS_READ,
	  false,
	  { { "generation", VARLINK_INT, true } },
	  verb_export },
	{ IO_SWD "Monitor", ACCESS_READ, true, { { NULL } }, verb_monitor },
};

const struct verb *verb_at(size_t i)
{
	return i < ARRAY_SIZE(table) ? &table[i] : NULL;
}

static const struct verb *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (streq(table[i].name, name))
			return &table[i];
	}
	return NULL;
}

/* An error to something that has not become a call. */
static void refuse(struct client *client, bool oneway, const char *error, const char *key,
		   const char *value)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	char *text;
	size_t size;

	if (oneway)
		return;
	if (w) {
		jsonw_object(w);
		jsonw_key_string(w, key, value);
		jsonw_object_end(w);
	}
	if (!w || varlink_error(error, w, &text, &size) < 0)
		client_kill(client, "memory is short");
	else
		client_send(client, text, size);
}

void verbs_refuse_message(struct client *client, const char *why)
{
	refuse(client, false, IO_SWD "BadMessage", "text", why);
}

static void refuse_method(struct client *client, const struct varlink_call *m)
{
	const char *dot = strrchr(m->method, '.');
	char interface[VARLINK_METHOD_MAX + 1] = "";

	if (dot)
		memcpy(interface, m->method, (size_t)(dot - m->method));
	if (streq(interface, "io.swd.Switch") || streq(interface, "org.varlink.service"))
		refuse(client, m->oneway, ORG_VARLINK "MethodNotFound", "method", m->method);
	else
		refuse(client, m->oneway, ORG_VARLINK "InterfaceNotFound", "interface", interface);
}

static void refuse_access(struct client *client, const struct varlink_call *m,
			  const struct verb *verb)
{
	unsigned int missed;

	if (log_allowed(&client->service->log_access, 10, 60, &missed))
		log_warning("%s refused to uid %u (%s, pid %d)%s", verb->name, client->peer.uid,
			    client->peer.name, (int)client->peer.pid,
			    missed ? " (and others before)" : "");
	refuse(client, m->oneway, IO_SWD "AccessDenied", "method", verb->name);
}

static void begin(struct client *client, struct varlink_call *m)
{
	const struct verb *verb = find(m->method);
	const char *bad;
	struct call *call;

	if (!verb) {
		refuse_method(client, m);
		return;
	}
	if (!access_allows(&client->service->access, &client->peer, verb->need)) {
		refuse_access(client, m, verb);
		return;
	}
	if (varlink_params_check(verb->params, m->parameters, &bad) < 0) {
		refuse(client, m->oneway, ORG_VARLINK "InvalidParameter", "parameter", bad);
		return;
	}
	if (m->upgrade) {
		refuse(client, m->oneway, ORG_VARLINK "MethodNotImplemented", "method", m->method);
		return;
	}
	call = call_new(client, m, verb);
	if (!call)
		client_kill(client, "memory is short");
	else if (verb->needs_more && !call->message.more)
		call_error(call, ORG_VARLINK "ExpectedMore", NULL);
	else
		verb->run(call);
}

void verbs_receive(struct client *client, const char *text, size_t size)
{
	struct varlink_call m;
	const char *why;
	int err;

	err = varlink_parse(text, size, &m, &why);
	if (err == -EBADMSG) {
		verbs_refuse_message(client, why);
		return;
	}
	if (err < 0) {
		client_kill(client, "memory is short");
		return;
	}
	begin(client, &m);
	varlink_call_clear(&m);
}
