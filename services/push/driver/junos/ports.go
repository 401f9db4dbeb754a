package junos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/junosconf"
)

// comparePorts lists what an operator has at the ports and L2 circuits of the group's circuits: with it a circuit is
// another one, or the router refuses the commit.
func comparePorts(group, unmanaged junosconf.View) (out []string) {
	for _, i := range group.In("interfaces").List("interface") {
		theirs := unmanaged.In("interfaces").Entry("interface", i.Key())
		switch i.Leaf("encapsulation") {
		case "":
		case "ethernet-ccc":
			out = append(out, wholePort(i, theirs)...)
		default:
			out = append(out, taggedPort(i, theirs)...)
		}
	}
	return append(out, compareCircuits(group.In("protocols", "l2circuit"), unmanaged.In("protocols", "l2circuit"))...)
}

// taggings are the ways of a port to have VLANs; Junos takes one of them.
var taggings = []string{"vlan-tagging", "stacked-vlan-tagging", "flexible-vlan-tagging"}

// portMode lists what an operator's port has of encapsulation and tags that the group's has not.
func portMode(ours, theirs junosconf.View) (out []string) {
	if e := theirs.Leaf("encapsulation"); e != "" && e != ours.Leaf("encapsulation") {
		out = append(out, fmt.Sprintf("encapsulation %s on %s", e, ours.Key()))
	}
	for _, tagging := range taggings {
		if theirs.Has(tagging) && !ours.Has(tagging) {
			out = append(out, tagging+" on "+ours.Key())
		}
	}
	return out
}

// wholePort is for a circuit that has all of a port.
func wholePort(ours, theirs junosconf.View) []string {
	out := portMode(ours, theirs)
	for _, u := range theirs.List("unit") {
		out = append(out, fmt.Sprintf("unit %s on %s", u.Key(), ours.Key()))
	}
	return out
}

// taggedPort is for circuits that have VLANs of a port: an operator may have others.
func taggedPort(ours, theirs junosconf.View) []string {
	out := portMode(ours, theirs)
	for _, u := range theirs.List("unit") {
		vlans := vlansOf(u)
		if ours.Entry("unit", u.Key()).Exists() {
			out = append(out, fmt.Sprintf("unit %s on %s", u.Key(), ours.Key()))
			continue
		}
		if len(vlans) == 0 {
			out = append(out, fmt.Sprintf("unit %s without a VLAN on %s", u.Key(), ours.Key()))
		}
		for _, circuit := range ours.List("unit") {
			vlan := circuit.Leaf("vlan-id")
			if slices.ContainsFunc(vlans, func(r string) bool { return holds(r, vlan) }) {
				out = append(out, fmt.Sprintf("VLAN %s of unit %s on %s", vlan, u.Key(), ours.Key()))
			}
		}
	}
	return out
}

// vlansOf are the VLANs of a unit, the outer ones where it has two tags: ids, and ranges of them.
func vlansOf(u junosconf.View) (out []string) {
	for _, one := range []string{u.Leaf("vlan-id"), u.Leaf("vlan-id-range"), u.In("vlan-tags").Leaf("outer")} {
		if one != "" {
			out = append(out, one)
		}
	}
	return append(out, u.Values("vlan-id-list")...)
}

// holds reports whether a VLAN is one of an id or a range such as 10-20; before an id may stand its protocol, as in
// 0x8100.10.
func holds(ids, vlan string) bool {
	first, last, isRange := strings.Cut(ids[strings.LastIndexByte(ids, '.')+1:], "-")
	if !isRange {
		last = first
	}
	n, err := strconv.Atoi(vlan)
	low, errLow := strconv.Atoi(first)
	high, errHigh := strconv.Atoi(last)
	return err == nil && errLow == nil && errHigh == nil && low <= n && n <= high
}

// compareCircuits lists an operator's L2 circuits at the units of the group's, with their numbers or with their labels.
func compareCircuits(ours, theirs junosconf.View) (out []string) {
	units, numbers, labels := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, n := range ours.List("neighbor") {
		for _, i := range n.List("interface") {
			units[i.Key()], numbers[n.Key()+" "+i.Leaf("virtual-circuit-id")] = true, true
			labels[i.In("static").Leaf("incoming-label")] = true
		}
	}
	for _, n := range theirs.List("neighbor") {
		for _, i := range n.List("interface") {
			if units[i.Key()] {
				out = append(out, fmt.Sprintf("l2circuit to %s on %s", n.Key(), i.Key()))
			}
			if id := i.Leaf("virtual-circuit-id"); numbers[n.Key()+" "+id] {
				out = append(out, fmt.Sprintf("virtual-circuit-id %s to %s on %s", id, n.Key(), i.Key()))
			}
			if label := i.In("static").Leaf("incoming-label"); labels[label] {
				out = append(out, fmt.Sprintf("incoming-label %s on %s", label, i.Key()))
			}
		}
	}
	return out
}
