// Package vpnshare computes what is fair among VPNs: it reads policies for sharing the core, turns every criterion into
// weights (the only input of the control law), and measures how fair a sharing is.
//
// In: policies/vpn/*.yaml; links and routes where the file does not list them; throughputs. Out: Policy with its
// weights, fair shares, F and Jain's index. Next: services/vpn, which distributes the weights, and services/peagent,
// which enforces them.
//
// Mutation testing: 79 of 85 killed (docs/reference/mutants.md).
package vpnshare
