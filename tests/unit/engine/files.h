/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that engine tests start from. */
#ifndef SWD_TESTS_UNIT_ENGINE_FILES_H
#define SWD_TESTS_UNIT_ENGINE_FILES_H

/* clang-format off */

#define HEAD \
	"version: 1\n" \
	"ports:\n" \
	"  lan1: { up: true, tc-offload: true }\n" \
	"  lan2: { up: true }\n" \
	"  cpu0: { up: true }\n"

#define VLANS \
	"vlans:\n" \
	"  core.100: { link: eth0, id: 100, addresses: [192.0.2.1/31] }\n" \
	"  a.7: { link: core.100, id: 7, up: true }\n"

#define BLOCK \
	"blocks:\n" \
	"  edge:\n" \
	"    id: 10\n" \
	"    bind: [lan1, lan2]\n" \
	"    tagging: none\n"

#define RULES \
	"    rules:\n" \
	"      - { name: one, match: { dst: 198.51.100.0/24 }, action: drop }\n" \
	"      - name: two\n" \
	"        match: { dst: 203.0.113.7, proto: tcp, dport: 179 }\n" \
	"        action: trap\n" \
	"      - name: three\n" \
	"        match: { dst-mac: \"02:00:00:00:00:09\", tagging: any }\n" \
	"        action: { redirect: lan2 }\n"

#define FILE_ONE HEAD VLANS BLOCK RULES

/* Other in many ways: VLANs and addresses differ, a rule changes in place, one moves. */
#define FILE_TWO \
	"version: 1\n" \
	"ports:\n" \
	"  lan1: { up: true, mtu: 1400 }\n" \
	"  lan2: { up: false }\n" \
	"  cpu0: { up: true }\n" \
	"vlans:\n" \
	"  core.100: { link: eth0, id: 101, addresses: [192.0.2.3/31, 192.0.2.9/31] }\n" \
	"  b.8: { link: eth0, id: 8, up: true }\n" \
	BLOCK \
	"    rules:\n" \
	"      - { name: zero, match: { dst: 198.18.0.0/15 }, action: drop }\n" \
	"      - { name: one, match: { dst: 198.51.100.0/24 }, action: trap }\n" \
	"      - name: three\n" \
	"        match:\n" \
	"          dst-mac: \"02:00:00:00:00:0a\"\n" \
	"          src-mac: \"02:00:00:00:00:01\"\n" \
	"          tagging: any\n" \
	"        action: drop\n" \
	"  other:\n" \
	"    id: 11\n" \
	"    bind: [eth0]\n" \
	"    offload: off\n" \
	"    rules:\n" \
	"      - { name: far, chain: 5, match: { dst: 198.51.100.9 }, action: drop }\n" \
	"      - { name: jump, match: { dst: 198.51.100.0/24 }, action: { goto: 5 } }\n"

#endif
