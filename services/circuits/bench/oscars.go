package main

import (
	"maps"
	"slices"
)

// oscars is a port as OSCARS 1.2 admits to it: a list of reservations, of which those that overlap a request are looked
// up, and a sweep over their ends. The changes of an instant are a set of numbers, as there: of two equal changes at
// one instant it counts one.
type oscars struct {
	reservable int64
	list       []booking
}

// availBandwidth is what ResvLibrary.overallAvailBandwidth computes.
func (o *oscars) availBandwidth(reservations []booking) int64 {
	timeline := map[int64]map[int64]struct{}{}
	change := func(at, delta int64) {
		if timeline[at] == nil {
			timeline[at] = map[int64]struct{}{}
		}
		timeline[at][delta] = struct{}{}
	}
	for _, r := range reservations {
		change(r.Start, r.rate)
		change(r.End, -r.rate)
	}
	most, reserved := int64(0), int64(0)
	for _, at := range slices.Sorted(maps.Keys(timeline)) {
		for delta := range timeline[at] {
			reserved += delta
		}
		most = max(most, reserved)
	}
	return o.reservable - most
}

// admit books a request if the sweep finds room for it.
func (o *oscars) admit(b booking) bool {
	var overlapping []booking
	for _, r := range o.list {
		if r.Start < b.End && b.Start < r.End {
			overlapping = append(overlapping, r)
		}
	}
	if o.availBandwidth(overlapping) < b.rate {
		return false
	}
	o.list = append(o.list, b)
	return true
}
