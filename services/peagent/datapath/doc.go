// Package datapath loads the programs of services/peagent/bpf into the kernel and gives the agent access to their maps.
//
// The maps are pinned: they and the attached programs stay when the agent ends, and the next agent continues with
// them. Counters, feedback and rates, which the agent reads or writes for every flow in every round trip, are mapped
// into its memory, so the control loop makes no system calls.
//
// In: VPN ports, prefixes, peers, rates. Out: counters and feedback. Next: services/peagent.
package datapath
