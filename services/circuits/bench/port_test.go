package main

import (
	"testing"

	"github.com/millrace/millrace/services/circuits/calendar"
)

// ResvLibrary.overallAvailBandwidth of OSCARS 1.2 says 4 of 10 where two reservations of 6 have equal ends.
func TestOSCARSMethodCountsTwoEqualReservationsOnce(t *testing.T) {
	o := &oscars{reservable: 10}
	night := booking{Window: calendar.Window{Start: 10, End: 20}, rate: 6}
	if free := o.availBandwidth([]booking{night, night}); free != 4 {
		t.Errorf("%d free", free)
	}
	late := booking{Window: calendar.Window{Start: 11, End: 20}, rate: 5}
	if free := o.availBandwidth([]booking{night, late}); free != -1 {
		t.Errorf("%d free with starts that differ", free)
	}
	if !o.admit(night) || o.admit(late) || !o.admit(booking{Window: calendar.Window{Start: 20, End: 30}, rate: 10}) {
		t.Errorf("admitted %+v", o.list)
	}
}

// The list is the same for both methods, and what is granted is counted hour by hour.
func TestOnlyOSCARSMethodOverbooks(t *testing.T) {
	p, err := measurePort(5_000, 400)
	if err != nil {
		t.Fatal(err)
	}
	if p.Overbooked != 0 || p.OSCARS.Overbooked == 0 || p.Granted == 0 || p.OSCARS.Granted <= p.Granted {
		t.Errorf("%+v", p)
	}
}
