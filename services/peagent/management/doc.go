// Package management is the format of I2VFC's management packets and of the updates that PEs send each other, and the
// keys that protect both.
//
// The agent makes requests; the egress programs of services/peagent/bpf stamp them with counters and departure time at
// their position in the packet sequence, and sign them. Answers never reach user space. Peer updates are signed here.
//
// In: VPN flows, sums over them, a file of keys. Out: UDP payloads. Next: services/peagent sends them.
package management
