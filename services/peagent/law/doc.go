// Package law is the control law of I2VFC: it computes the window of a VPN flow from the feedback of the far PE.
//
// The law is additive increase, multiplicative decrease (AIMD). Each flow has a decrease factor b of its own, chosen
// so that throughputs are proportional to weights whatever the round-trip times and loss rates (paper 001, sections II
// and III; docs/explanation/i2vfc.md derives it). Windows are in packets and times in seconds. The package has no
// clock, no network and no goroutine, and an update allocates nothing.
//
// Each file has one idea: rtt.go and rate.go (from window to rate), loss.go, window.go, slowstart.go, timeout.go,
// fairness.go (b), domain.go (what PEs share), weights.go.
//
// In: Feedback, what one management packet brought back. Out: window, rate and queue limit. Next: services/peagent,
// which sets the rate in the kernel.
//
// Mutation testing: 303 of 304 killed (docs/reference/mutants.md).
package law
