// Package vpnshare knows what is fair among VPNs: it reads what operators write
// about sharing the core, turns every criterion into weights, which is all that
// the control law knows, and measures how fair a sharing is.
//
// In: policies/vpn/*.yaml; links and routes where the file does not list them;
// throughputs. Out: Policy with its weights, fair shares, F and Jain's index.
// Next: services/vpn, which distributes the weights, and services/peagent,
// whose flows keep them.
package vpnshare
