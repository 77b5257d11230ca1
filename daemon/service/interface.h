/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interface: the two interfaces as text in the Varlink definition language, for
 * GetInterfaceDescription (https://varlink.org/Interface-Definition). It is the promise to clients:
 * members are added, never changed.
 */
#ifndef SWD_SERVICE_INTERFACE_H
#define SWD_SERVICE_INTERFACE_H

extern const char interface_switch[];  /* io.swd.Switch */
extern const char interface_varlink[]; /* org.varlink.service */

#endif
