// Package prefixes chooses which routes of a VPN the datapath gets where it has no room for all.
//
// The tables of prefixes are shared by all VPNs, and a port looks up few different prefix lengths. So each VPN has a
// limit of its own: what one customer announces neither keeps routes of another out nor removes those that are there.
//
// In: a VPN's routes and limits. Out: the routes that fit, and those that are left out. Next: services/peagent, which
// writes them to the datapath.
package prefixes

import (
	"cmp"
	"net/netip"
	"slices"
	"sort"
)

// Route is a prefix that the VPN wants.
type Route struct {
	Prefix netip.Prefix
	// Configured: an operator wrote it, so announcements of a customer must not keep it out.
	Configured bool
	// Installed: the datapath has it already, so it stays rather than makes room for a new one.
	Installed bool
}

func (r Route) rank() int {
	switch {
	case r.Configured:
		return 0
	case r.Installed:
		return 1
	}
	return 2
}

// Limits of one VPN: routes of each address family, and different prefix lengths within each.
type Limits struct{ IPv4, IPv6, Lengths int }

// Fit splits routes into those within the limits and those that are left out. Equal input gives equal output, whatever
// its order, so that routes do not take turns.
func Fit(routes []Route, l Limits) (fits, left []Route) {
	v4, v6 := families(routes)
	for _, of := range []struct {
		routes []Route
		limit  int
	}{{v4, l.IPv4}, {v6, l.IPv6}} {
		some, rest := fitLengths(of.routes, l.Lengths)
		slices.SortFunc(some, order)
		n := min(len(some), max(of.limit, 0))
		fits = append(fits, some[:n]...)
		left = append(append(left, rest...), some[n:]...)
	}
	return fits, left
}

func families(routes []Route) (v4, v6 []Route) {
	for _, r := range routes {
		if r.Prefix.Addr().Is4() {
			v4 = append(v4, r)
		} else {
			v6 = append(v6, r)
		}
	}
	return v4, v6
}

// order: configured, installed, new; then the larger networks.
func order(a, b Route) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()), a.Prefix.Addr().Compare(b.Prefix.Addr()))
}

// fitLengths keeps the routes of the first lengths: those of configured routes, of installed ones, of most routes.
func fitLengths(routes []Route, limit int) (fits, left []Route) {
	type length struct{ bits, rank, routes int }
	all := map[int]*length{}
	for _, r := range routes {
		of := all[r.Prefix.Bits()]
		if of == nil {
			of = &length{bits: r.Prefix.Bits(), rank: r.rank()}
			all[of.bits] = of
		}
		of.rank = min(of.rank, r.rank())
		of.routes++
	}
	ranked := make([]*length, 0, len(all))
	for _, of := range all {
		ranked = append(ranked, of)
	}
	slices.SortFunc(ranked, func(a, b *length) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.routes, a.routes), cmp.Compare(a.bits, b.bits))
	})
	kept := map[int]bool{}
	for _, of := range ranked[:min(len(ranked), limit)] {
		kept[of.bits] = true
	}
	for _, r := range routes {
		if kept[r.Prefix.Bits()] {
			fits = append(fits, r)
		} else {
			left = append(left, r)
		}
	}
	return fits, left
}

// Demand is what a VPN may need of a table.
type Demand struct {
	// Limit is the share that an operator gave it; 0: none.
	Limit int
	// Configured is how many routes an operator wrote.
	Configured int
	// Learns: routes of a customer come in addition.
	Learns bool
}

// Shares divides a table among VPNs: those with a limit have that. The others have room for what is configured first,
// and what is left goes to those that learn routes, so that the smallest share is as large as it can be (max-min).
func Shares(table int, vpns []Demand) []int {
	out := make([]int, len(vpns))
	floors := make([]int, len(vpns))
	for i, d := range vpns {
		if out[i] = d.Limit; d.Limit == 0 {
			floors[i] = d.Configured
		}
		table -= d.Limit
	}
	table = max(table, 0)
	low := level(table, func(l int) (sum int) {
		for i := range vpns {
			sum += min(floors[i], l)
		}
		return sum
	})
	if low < slices.Max(append(floors, 0)) { // not even what is configured fits
		for i, d := range vpns {
			out[i] = max(d.Limit, min(floors[i], low))
		}
		return out
	}
	high := level(table, func(l int) (sum int) {
		for i, d := range vpns {
			sum += d.raised(floors[i], l)
		}
		return sum
	})
	for i, d := range vpns {
		if d.Limit == 0 {
			out[i] = d.raised(floors[i], high)
		}
	}
	return out
}

// raised is a share whose VPN can use more.
func (d Demand) raised(share, level int) int {
	if d.Limit == 0 && d.Learns {
		return max(share, level)
	}
	return share
}

// level is the highest one at which no more than the table is used.
func level(table int, used func(level int) int) int {
	return sort.Search(table, func(l int) bool { return used(l+1) > table })
}
