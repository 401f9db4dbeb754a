// Package hostadvice says what a data transfer node should set for a
// destination that its provider reaches over several paths.
//
// In: how many paths, and whether the routers choose one per packet or per
// flow. Out: settings for Linux, with the reason of each. Next: `millrace paths
// host-advice`, which adds what the lab measured.
package hostadvice

import (
	"fmt"
	"math/bits"
)

// Forwarding is how routers choose among equal paths.
type Forwarding string

// The two kinds (paper 003, section II).
const (
	PerFlow   Forwarding = "flow"
	PerPacket Forwarding = "packet"
)

// StandardThreshold is TCP's own count of duplicate acknowledgments (RFC 5681, section 3.2).
const StandardThreshold = 3

// Threshold is the count of duplicate acknowledgments that papers 000 and 003
// request over n paths of unequal delay: T = 3(1 + floor(log2 n)).
func Threshold(n int) int {
	if n < 1 {
		return StandardThreshold
	}
	return StandardThreshold * bits.Len(uint(n))
}

// Setting is one command for the host and why.
type Setting struct {
	Command string `json:"command"`
	Why     string `json:"why"`
}

// Advice is what to set on a sender.
type Advice struct {
	Paths      int        `json:"paths"`
	Forwarding Forwarding `json:"forwarding"`
	// Threshold is the count of duplicate acknowledgments.
	Threshold int       `json:"threshold"`
	Settings  []Setting `json:"settings"`
	// Notes are for what cannot be set on this host.
	Notes []string `json:"notes"`
}

// For advises a sender to destination; gateway is the host's next hop.
func For(destination, gateway string, paths int, f Forwarding) (Advice, error) {
	if paths < 1 {
		return Advice{}, fmt.Errorf("%d paths: a destination has at least one", paths)
	}
	a := Advice{Paths: paths, Forwarding: f, Threshold: StandardThreshold}
	switch {
	case f != PerFlow && f != PerPacket:
		return Advice{}, fmt.Errorf("forwarding %q: write flow or packet", f)
	case paths == 1:
		a.Notes = []string{"one path keeps packets in order: nothing to set"}
	case f == PerFlow:
		a.Notes = []string{
			"routers that hash flows keep each flow in order: nothing to set",
			fmt.Sprintf("one flow uses one path; %d parallel streams leave a given one of %d paths empty less than once in a thousand transfers", streams(paths), paths),
		}
	default:
		a.Threshold = Threshold(paths)
		a.Settings = []Setting{
			{"sysctl -w net.ipv4.tcp_sack=1", "without selective acknowledgments every reordered packet stops the flow (RFC 2018)"},
			{"sysctl -w net.ipv4.tcp_recovery=1", "RACK waits a part of the round trip before it calls a packet lost (RFC 8985)"},
			{
				fmt.Sprintf("ip route replace %s via %s reordering %d", destination, gateway, a.Threshold),
				fmt.Sprintf("duplicate acknowledgments before a retransmission: 3(1 + floor(log2 %d)) (papers 000 and 003)", paths),
			},
		}
		a.Notes = []string{"the better cure is in the network: routers that hash flows (net.ipv4.fib_multipath_hash_policy=1 on Linux) reorder nothing"}
	}
	return a, nil
}

// streams is the least number s with ((n-1)/n)^s < 1/1000.
func streams(n int) int {
	s, empty := 0, 1.0
	for empty >= 1e-3 {
		empty *= float64(n-1) / float64(n)
		s++
	}
	return s
}
