// Package law is the control law of I2VFC: what the window of a VPN flow is
// after each report of its counters and round-trip time.
//
// It is additive increase, multiplicative decrease with one b per VPN flow, so
// chosen that throughputs stand in the ratio of the weights whatever the flows'
// round-trip times and loss rates (paper 001, sections II and III;
// docs/explanation/i2vfc.md has the derivation). Windows are in packets, times
// in seconds; nothing here has a clock, a network or a goroutine, and a step
// allocates nothing.
//
// In: Report, what one management packet brought back. Out: window and rate.
// Next: services/peagent, which turns the rate into departure times.
package law
