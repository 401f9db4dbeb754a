// Package management is the format of I2VFC's management packets and of the
// notes agents send each other, and the keys that protect both.
//
// Requests are made here, with everything the agent knows; the egress programs
// of services/peagent/bpf stamp counters and time into them where they stand in
// the packet sequence, and sign them. Answers never reach user space. Notes are
// signed here.
//
// In: VPN flows, prices, a file of keys. Out: UDP payloads. Next:
// services/peagent sends them.
package management
