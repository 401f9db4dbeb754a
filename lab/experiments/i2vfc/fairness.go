package i2vfc

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/vpnshare"
)

// series is Mbit/s of each VPN in each second of the phase, or of each connection of one VPN.
func (r *Result) series(of string) (mbps [][]float64) {
	place := map[string]int{}
	for i, v := range r.VPNs {
		place[v] = i
	}
	rows := len(r.VPNs)
	if of != "" {
		rows = 0
	}
	mbps = make([][]float64, rows)
	for _, a := range r.Phase.Applications {
		v := vpnOf(a)
		if v == "" || of != "" && v != of {
			continue
		}
		i := place[v]
		if of != "" {
			i = len(mbps)
			mbps = append(mbps, nil)
		}
		offset := a.Start.Sub(r.Phase.Start).Seconds()
		for _, x := range a.TCP.Intervals {
			if x.End-x.Start < 0.5 {
				continue
			}
			at := int(math.Round(offset + x.Start))
			for len(mbps[i]) <= at {
				mbps[i] = append(mbps[i], 0)
			}
			mbps[i][at] += x.Mbps
		}
	}
	return mbps
}

// mean of each row over seconds [from, to).
func mean(mbps [][]float64, from, to int) []float64 {
	out := make([]float64, len(mbps))
	for i, row := range mbps {
		for s := from; s < to && s < len(row); s++ {
			out[i] += row[s] / float64(to-from)
		}
	}
	return out
}

// F over seconds [from, to), of throughputs averaged over `every` seconds; the mean of all such F.
func (r *Result) F(from, to, every int) float64 {
	return ofSpans(r.series(""), from, to, every, func(x []float64) float64 { return vpnshare.Fairness(x, r.Weights) })
}

// ofSpans is the mean of an index over each `every` seconds of [from, to). That of a span in which nothing moves is 0:
// the index itself would be 1, and a control that stops everything the fairest of all.
func ofSpans(mbps [][]float64, from, to, every int, index func([]float64) float64) float64 {
	var sum, n float64
	for s := from; s+every <= to; s += every {
		n++
		if x := mean(mbps, s, s+every); slices.ContainsFunc(x, func(mbps float64) bool { return mbps > 0 }) {
			sum += index(x)
		}
	}
	return sum / n
}

// Intra is F among the connections inside a VPN, with equal weights:
// the mean of F over each `every` seconds of [from, to).
func (r *Result) Intra(vpn string, from, to, every int) float64 {
	return ofSpans(r.series(vpn), from, to, every, vpnshare.Jain)
}

// Total is all VPNs' goodput, Mbit/s.
func (r *Result) Total(from, to int) (sum float64) {
	for _, x := range mean(r.series(""), from, to) {
		sum += x
	}
	return sum
}

// Table is F and throughputs over time, five seconds a line.
func (r *Result) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", r.Name)
	if r.Name == "with" {
		fmt.Fprintf(&b, " (a = %g, b = %g)", r.Setting.A, r.Setting.B)
	}
	fmt.Fprintf(&b, "\n%9s  F      Mbit/s of %s\n", "seconds", strings.Join(r.VPNs, ", "))
	x := r.series("")
	for s := 1; s+5 <= len(x[0]); s += 5 {
		m := mean(x, s, s+5)
		fmt.Fprintf(&b, "%4d-%-4d  %.3f ", s, s+5, vpnshare.Fairness(m, r.Weights))
		for _, v := range m {
			fmt.Fprintf(&b, " %6.2f", v)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
