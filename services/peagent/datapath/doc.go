// Package datapath puts the programs of services/peagent/bpf into the kernel
// and lets the agent read and write what they share.
//
// The maps are pinned: they and the attached programs stay when the agent ends,
// and the next one goes on with them. What the agent touches for every flow in
// every round trip (counters, answers, rates) is mapped into its memory, so the
// control loop makes no system calls.
//
// In: VPN ports, prefixes, peers, rates. Out: counters and answers. Next:
// services/peagent.
package datapath
