// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/service/interface.h"

const char interface_varlink[] =
	"# What every Varlink service tells of itself\n"
	"interface org.varlink.service\n"
	"\n"
	"method GetInfo() -> (\n"
	"  vendor: string,\n"
	"  product: string,\n"
	"  version: string,\n"
	"  url: string,\n"
	"  interfaces: []string\n"
	")\n"
	"\n"
	"method GetInterfaceDescription(interface: string) -> (description: string)\n"
	"\n"
	"error InterfaceNotFound (interface: string)\n"
	"error MethodNotFound (method: string)\n"
	"error MethodNotImplemented (method: string)\n"
	"error InvalidParameter (parameter: string)\n"
	"error PermissionDenied ()\n"
	"error ExpectedMore ()\n";

#define TYPES_COMMON                                                                         \
	"# A message about the file; message is the whole line, with its place\n"            \
	"type Diag (\n"                                                                      \
	"  level: string,\n"                                                                 \
	"  file: string,\n"                                                                  \
	"  line: int,\n"                                                                     \
	"  column: int,\n"                                                                   \
	"  path: ?string,\n"                                                                 \
	"  text: string,\n"                                                                  \
	"  hint: ?string,\n"                                                                 \
	"  message: string\n"                                                                \
	")\n"                                                                                \
	"\n"                                                                                 \
	"# Something to know of now. id is stable: bypass-off, port-waiting, foreign, ...\n" \
	"type Alert (\n"                                                                     \
	"  id: string,\n"                                                                    \
	"  about: string,\n"                                                                 \
	"  text: string,\n"                                                                  \
	"  since_ms: int\n"                                                                  \
	")\n"                                                                                \
	"\n"                                                                                 \
	"# Messages to and from the kernel since start\n"                                    \
	"type Counts (\n"                                                                    \
	"  sends: int,\n"                                                                    \
	"  messages: int,\n"                                                                 \
	"  dumps: int,\n"                                                                    \
	"  events: int,\n"                                                                   \
	"  overruns: int\n"                                                                  \
	")\n"                                                                                \
	"\n"

#define TYPES_PORTS                       \
	"type Port (\n"                   \
	"  name: string,\n"               \
	"  kind: string,\n"               \
	"  configured: bool,\n"           \
	"  state: string,\n"              \
	"  up: ?bool,\n"                  \
	"  carrier: ?bool,\n"             \
	"  mtu: ?int,\n"                  \
	"  mac: ?string,\n"               \
	"  type: ?string,\n"              \
	"  driver: ?string,\n"            \
	"  switch: ?string,\n"            \
	"  switch_index: ?int,\n"         \
	"  port_number: ?int,\n"          \
	"  port_name: ?string,\n"         \
	"  conduit: ?string,\n"           \
	"  tagger: ?string,\n"            \
	"  tc_offload: ?bool,\n"          \
	"  link: ?string,\n"              \
	"  vlan: ?int,\n"                 \
	"  ingress_block: ?int,\n"        \
	"  egress_block: ?int,\n"         \
	"  addresses: []string,\n"        \
	"  wanted_up: ?bool,\n"           \
	"  wanted_mtu: ?int,\n"           \
	"  wanted_tc_offload: ?bool,\n"   \
	"  wanted_ingress_block: ?int,\n" \
	"  wanted_egress_block: ?int\n"   \
	")\n"                             \
	"\n"                              \
	"type Binding (\n"                \
	"  port: string,\n"               \
	"  direction: string,\n"          \
	"  state: string\n"               \
	")\n"                             \
	"\n"                              \
	"type Block (\n"                  \
	"  name: string,\n"               \
	"  id: int,\n"                    \
	"  offload: string,\n"            \
	"  foreign: string,\n"            \
	"  tagging: string,\n"            \
	"  bypass_wanted: string,\n"      \
	"  bypass: string,\n"             \
	"  bindings: []Binding,\n"        \
	"  rules: int,\n"                 \
	"  filters_wanted: int,\n"        \
	"  filters: int,\n"               \
	"  in_hw: int,\n"                 \
	"  missing: int,\n"               \
	"  foreign_filters: int\n"        \
	")\n"                             \
	"\n"

#define TYPES_RULES                                                                             \
	"# text is how the file says it; the other members are there where they apply\n"        \
	"type Action (\n"                                                                       \
	"  name: string,\n"                                                                     \
	"  text: string,\n"                                                                     \
	"  dev: ?string,\n"                                                                     \
	"  mac: ?string,\n"                                                                     \
	"  vlan: ?int,\n"                                                                       \
	"  protocol: ?string,\n"                                                                \
	"  prio: ?int,\n"                                                                       \
	"  chain: ?int,\n"                                                                      \
	"  rate_bit: ?int,\n"                                                                   \
	"  burst: ?int,\n"                                                                      \
	"  mtu: ?int,\n"                                                                        \
	"  rate: ?int,\n"                                                                       \
	"  group: ?int,\n"                                                                      \
	"  truncate: ?int\n"                                                                    \
	")\n"                                                                                   \
	"\n"                                                                                    \
	"# What the kernel holds, or should hold (present: false). Without present there are\n" \
	"# no counters, and flags are the wanted ones\n"                                        \
	"type Filter (\n"                                                                       \
	"  present: bool,\n"                                                                    \
	"  as_wanted: bool,\n"                                                                  \
	"  owner: string,\n"                                                                    \
	"  role: string,\n"                                                                     \
	"  block: int,\n"                                                                       \
	"  chain: int,\n"                                                                       \
	"  pref: int,\n"                                                                        \
	"  protocol: string,\n"                                                                 \
	"  handle: int,\n"                                                                      \
	"  type: string,\n"                                                                     \
	"  skip_sw: bool,\n"                                                                    \
	"  skip_hw: bool,\n"                                                                    \
	"  in_hw: bool,\n"                                                                      \
	"  not_in_hw: bool,\n"                                                                  \
	"  in_hw_count: int,\n"                                                                 \
	"  match: [string]string,\n"                                                            \
	"  actions: []Action,\n"                                                                \
	"  packets: int,\n"                                                                     \
	"  bytes: int,\n"                                                                       \
	"  hw_packets: int,\n"                                                                  \
	"  hw_bytes: int,\n"                                                                    \
	"  last_used_ms: int\n"                                                                 \
	")\n"                                                                                   \
	"\n"                                                                                    \
	"# state: in hardware, partly, not in hardware, in software, missing, waiting.\n"       \
	"# Counters are the sums of the filters'; last_used_ms is the smallest of theirs\n"     \
	"type Rule (\n"                                                                         \
	"  name: string,\n"                                                                     \
	"  block: string,\n"                                                                    \
	"  block_id: int,\n"                                                                    \
	"  place: string,\n"                                                                    \
	"  position: int,\n"                                                                    \
	"  chain: int,\n"                                                                       \
	"  offload: string,\n"                                                                  \
	"  tagging: string,\n"                                                                  \
	"  state: string,\n"                                                                    \
	"  match: [string]string,\n"                                                            \
	"  actions: []Action,\n"                                                                \
	"  filters: []Filter,\n"                                                                \
	"  packets: int,\n"                                                                     \
	"  bytes: int,\n"                                                                       \
	"  hw_packets: int,\n"                                                                  \
	"  hw_bytes: int,\n"                                                                    \
	"  last_used_ms: ?int\n"                                                                \
	")\n"                                                                                   \
	"\n"

#define TYPES_BYPASS                                                                                  \
	"# One thing that breaks the bypass; handle 0: the pref is marked by a filter that is gone\n" \
	"type Culprit (\n"                                                                            \
	"  chain: int,\n"                                                                             \
	"  pref: int,\n"                                                                              \
	"  protocol: string,\n"                                                                       \
	"  handle: int,\n"                                                                            \
	"  owner: string,\n"                                                                          \
	"  text: string,\n"                                                                           \
	"  mend: string\n"                                                                            \
	")\n"                                                                                         \
	"\n"                                                                                          \
	"# packets: that took the bypass, where the kernel counts them; recent_packets of them\n"     \
	"# in the last recent_ms. cost: filters walked for each packet that reaches the CPU\n"        \
	"type BypassState (\n"                                                                        \
	"  block: string,\n"                                                                          \
	"  id: int,\n"                                                                                \
	"  wanted: string,\n"                                                                         \
	"  strategy: string,\n"                                                                       \
	"  state: string,\n"                                                                          \
	"  evidence: string,\n"                                                                       \
	"  since_ms: int,\n"                                                                          \
	"  rules: int,\n"                                                                             \
	"  filters: int,\n"                                                                           \
	"  filters_sw: int,\n"                                                                        \
	"  filters_dead: int,\n"                                                                      \
	"  in_hw: int,\n"                                                                             \
	"  cost: int,\n"                                                                              \
	"  packets: ?int,\n"                                                                          \
	"  recent_packets: ?int,\n"                                                                   \
	"  recent_ms: ?int,\n"                                                                        \
	"  culprit_count: int,\n"                                                                     \
	"  culprits: []Culprit\n"                                                                     \
	")\n"                                                                                         \
	"\n"

#define TYPES_PLAN                                                                   \
	"type Step (\n"                                                              \
	"  op: string,\n"                                                            \
	"  reason: string,\n"                                                        \
	"  kind: string,\n"                                                          \
	"  object: string,\n"                                                        \
	"  block: ?int,\n"                                                           \
	"  rule: ?string,\n"                                                         \
	"  line: ?int,\n"                                                            \
	"  text: string\n"                                                           \
	")\n"                                                                        \
	"\n"                                                                         \
	"# What can't be done before its port is there\n"                            \
	"type Wait (\n"                                                              \
	"  port: string,\n"                                                          \
	"  object: string\n"                                                         \
	")\n"                                                                        \
	"\n"                                                                         \
	"# What can't be done because something foreign stands in its place\n"       \
	"type Conflict (\n"                                                          \
	"  object: string,\n"                                                        \
	"  line: ?int,\n"                                                            \
	"  text: string\n"                                                           \
	")\n"                                                                        \
	"\n"                                                                         \
	"type StepList (\n"                                                          \
	"  steps: []Step,\n"                                                         \
	"  waiting: []Wait,\n"                                                       \
	"  conflicts: []Conflict\n"                                                  \
	")\n"                                                                        \
	"\n"                                                                         \
	"# type: listening, applied, repaired, bypass, foreign, port, lost, alert\n" \
	"type Event (\n"                                                             \
	"  type: string,\n"                                                          \
	"  at_ms: int,\n"                                                            \
	"  about: string,\n"                                                         \
	"  text: string\n"                                                           \
	")\n"                                                                        \
	"\n"

#define METHODS                                                                                  \
	"# Answered from memory, whatever the kernel does\n"                                     \
	"method Status() -> (\n"                                                                 \
	"  version: string,\n"                                                                   \
	"  kernel: string,\n"                                                                    \
	"  generation: int,\n"                                                                   \
	"  settled: bool,\n"                                                                     \
	"  last_outcome: string,\n"                                                              \
	"  last_apply_ms: ?int,\n"                                                               \
	"  last_error: ?string,\n"                                                               \
	"  file: ?string,\n"                                                                     \
	"  ability: string,\n"                                                                   \
	"  ability_how: string,\n"                                                               \
	"  ports: int,\n"                                                                        \
	"  ports_waiting: int,\n"                                                                \
	"  blocks: int,\n"                                                                       \
	"  bypass_on: int,\n"                                                                    \
	"  rules: int,\n"                                                                        \
	"  filters: int,\n"                                                                      \
	"  in_hw: int,\n"                                                                        \
	"  missing: int,\n"                                                                      \
	"  foreign_filters: int,\n"                                                              \
	"  repairs: int,\n"                                                                      \
	"  clients: int,\n"                                                                      \
	"  counts: Counts,\n"                                                                    \
	"  alerts: []Alert,\n"                                                                   \
	"  snapshot: int,\n"                                                                     \
	"  snapshot_ms: int\n"                                                                   \
	")\n"                                                                                    \
	"\n"                                                                                     \
	"# Every device the file names, and every port of a switch\n"                            \
	"method Ports() -> (ports: []Port)\n"                                                    \
	"\n"                                                                                     \
	"method Blocks() -> (blocks: []Block)\n"                                                 \
	"\n"                                                                                     \
	"# Rules and their filters, with fresh counters where the kernel answers soon enough.\n" \
	"# others: filters of these blocks that do no rule's work, foreign ones among them.\n"   \
	"# With more, in pieces; without, ExpectedMore if it is long\n"                          \
	"method Rules(block: ?string) -> (\n"                                                    \
	"  rules: []Rule,\n"                                                                     \
	"  others: []Filter,\n"                                                                  \
	"  counters_age_ms: int\n"                                                               \
	")\n"                                                                                    \
	"\n"                                                                                     \
	"method Bypass(block: ?string) -> (\n"                                                   \
	"  ability: string,\n"                                                                   \
	"  ability_how: string,\n"                                                               \
	"  blocks: []BypassState\n"                                                              \
	")\n"                                                                                    \
	"\n"                                                                                     \
	"# Is this text a good file, for this device as it is? Changes nothing\n"                \
	"method Check(text: string) -> (diags: []Diag)\n"                                        \
	"\n"                                                                                     \
	"# What Apply would do. Without text: with the file of the daemon\n"                     \
	"method Plan(text: ?string) -> (plan: StepList, steps: int, diags: []Diag)\n"            \
	"\n"                                                                                     \
	"# All or nothing. Without text: the daemon's file\n"                                    \
	"method Apply(text: ?string) -> (\n"                                                     \
	"  generation: int,\n"                                                                   \
	"  plan: StepList,\n"                                                                    \
	"  steps: int,\n"                                                                        \
	"  diags: []Diag\n"                                                                      \
	")\n"                                                                                    \
	"\n"                                                                                     \
	"# Wants more. The first event is of type listening\n"                                   \
	"method Monitor() -> (event: Event)\n"                                                   \
	"\n"

#define ERRORS                                                                          \
	"error AccessDenied (method: string)\n"                                         \
	"# The message could not be read\n"                                             \
	"error BadMessage (text: string)\n"                                             \
	"error NoSuchBlock (block: string)\n"                                           \
	"# The file is wrong; nothing was tried\n"                                      \
	"error BadConfig (diags: []Diag)\n"                                             \
	"# The kernel refused; outcome: reverted (what was before is back) or failed\n" \
	"error Refused (outcome: string, text: string, diags: []Diag)\n"                \
	"# Too much of this is under way already\n"                                     \
	"error Busy (text: string)\n"                                                   \
	"error Stopping ()\n"                                                           \
	"error Failed (errno: int, text: string)\n"

const char interface_switch[] =
	"# The switch that swd manages. Times are milliseconds since 1970; counters have 64 bits\n"
	"interface io.swd.Switch\n"
	"\n" TYPES_COMMON TYPES_PORTS TYPES_RULES TYPES_BYPASS TYPES_PLAN METHODS ERRORS;
