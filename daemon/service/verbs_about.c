// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What every Varlink service tells of itself (org.varlink.service).
 */
#include "daemon/service/interface.h"
#include "daemon/service/verbs.h"

void verb_get_info(struct call *c)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();

	if (!w) {
		call_lost(c);
		return;
	}
	jsonw_object(w);
	jsonw_key_string(w, "vendor", "swd");
	jsonw_key_string(w, "product", "switch management daemon");
	jsonw_key_string(w, "version", SWD_VERSION);
	jsonw_key_string(w, "url", "");
	jsonw_key(w, "interfaces");
	jsonw_array(w);
	jsonw_string(w, "org.varlink.service");
	jsonw_string(w, "io.swd.Switch");
	jsonw_array_end(w);
	jsonw_object_end(w);
	call_reply(c, w);
}

void verb_get_interface_description(struct call *c)
{
	const char *name = varlink_param_string(c->message.parameters, "interface");
	_cleanup_(jsonw_freep) struct jsonw *w = NULL;
	const char *text;

	if (streq(name, "io.swd.Switch")) {
		text = interface_switch;
	} else if (streq(name, "org.varlink.service")) {
		text = interface_varlink;
	} else {
		call_error_text(c, ORG_VARLINK "InterfaceNotFound", "interface", name);
		return;
	}
	w = jsonw_new();
	if (!w) {
		call_lost(c);
		return;
	}
	jsonw_object(w);
	jsonw_key_string(w, "description", text);
	jsonw_object_end(w);
	call_reply(c, w);
}
