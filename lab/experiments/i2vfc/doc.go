// Package i2vfc runs paper 001's experiments on virtual routers: a real BGP/MPLS
// L3VPN, real TCP, with and without the I2VFC agent on the PEs.
//
// The driver starts and stops agents and judges by what receivers saw; all
// control is `millrace pe`.
//
// In: a scenario with the phases `without` and `with`, the latter requiring
// i2vfc. Out: Result, throughput per VPN and second and F; Report, medians of
// several runs against the scenario's expectations. Next: `millrace lab vpn` and
// docs/reference/vpn-results.md.
package i2vfc
