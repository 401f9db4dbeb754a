// Package peagent is the I2VFC agent of a provider edge (paper 001): it shares
// the core fairly among VPNs without the core's help.
//
// The kernel forwards, counts and paces (services/peagent/bpf); the agent sends
// management packets, runs the control law on what they bring back and sets the
// rates. When it ends, traffic goes on, at the last rates for FailOpen and then
// unshaped; the next agent takes over.
//
// In: counters and answers from services/peagent/datapath, routes from FRR,
// weights from a policy file or the API. Out: rates, and VpnService for
// `millrace vpn`. Next: the packet's departure in the kernel.
package peagent
