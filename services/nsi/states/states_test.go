package states

import (
	"errors"
	"fmt"
	"testing"
)

// in is a committed connection in a state of the reservation.
func in(r Reservation) Connection {
	return Connection{Reservation: r, Provision: Released, Lifecycle: Created, Version: 1}
}

// held is one whose first version, or whose next one, is held.
func held(version int) Connection {
	c := in(Held)
	c.Version, c.Held = version, version+1
	return c
}

func with(c Connection, p Provision, l Lifecycle) Connection {
	c.Provision, c.Lifecycle = p, l
	return c
}

func TestNext(t *testing.T) {
	fresh := New()
	active := in(Start)
	active.Active = true
	for name, x := range map[string]struct {
		from  Connection
		event Event
		want  string
		tell  string
		bad   bool
	}{
		"a reservation":                          {fresh, Reserve, "ReserveChecking Released Created 0 1", "", false},
		"a modification":                         {in(Start), Reserve, "ReserveChecking Released Created 1 2", "", false},
		"a second reserve meanwhile":             {in(Checking), Reserve, "", "", true},
		"a commit":                               {held(0), Commit, "ReserveCommitting Released Created 0 1", "", false},
		"a commit of a hold that is over":        {in(Timeout), Commit, "", "", true},
		"a commit of nothing":                    {fresh, Commit, "", "", true},
		"booked":                                 {Connection{Committing, Released, Created, false, 0, 1}, CommitDone, "ReserveStart Released Created 1 0", "reserveCommitConfirmed", false},
		"a modification that cannot be booked":   {Connection{Committing, Provisioned, Created, true, 1, 2}, CommitRefused, "ReserveStart Provisioned Created 1 0 active", "reserveCommitFailed", false},
		"an abort of a hold":                     {held(1), Abort, "ReserveAborting Released Created 1 2", "", false},
		"an abort of a hold that is over":        {in(Timeout), Abort, "ReserveAborting Released Created 1 0", "", false},
		"aborted":                                {Connection{Aborting, Released, Created, false, 1, 2}, AbortDone, "ReserveStart Released Created 1 0", "reserveAbortConfirmed", false},
		"nobody committed":                       {held(0), HoldOver, "ReserveTimeout Released Created 0 1", "reserveTimeout", false},
		"the hold is over while it is committed": {in(Committing), HoldOver, "ReserveCommitting Released Created 1 0", "", false},
		"provision before a commit":              {held(0), Provide, "", "", true},
		"provision beside a modification":        {held(1), Provide, "ReserveHeld Provisioning Created 1 2", "", false},
		"provision again":                        {with(in(Start), Provisioned, Created), Provide, "ReserveStart Provisioning Created 1 0", "", false},
		"provision after the end":                {with(in(Start), Released, PassedEndTime), Provide, "", "", true},
		"release while it is provisioned":        {with(in(Start), Provisioning, Created), Release, "", "", true},
		"terminate whatever the reservation is":  {held(0), Terminate, "ReserveHeld Released Terminating 0 1", "", false},
		"terminate after the end":                {with(in(Start), Provisioned, PassedEndTime), Terminate, "ReserveStart Provisioned Terminating 1 0", "", false},
		"commit after terminate":                 {with(held(0), Released, Terminated), Commit, "", "", true},
		"its end":                                {in(Start), EndTime, "ReserveStart Released PassedEndTime 1 0", "", false},
		"its end told again":                     {with(in(Start), Released, PassedEndTime), EndTime, "ReserveStart Released PassedEndTime 1 0", "", false},
		"given up by the network":                {in(Start), Forced, "ReserveStart Released Failed 1 0", "errorEvent", false},
		"the network gives up what it ended":     {with(in(Start), Released, Terminating), Forced, "ReserveStart Released Terminating 1 0", "", false},
		"carried":                                {in(Start), Up, "ReserveStart Released Created 1 0 active", "dataPlaneStateChange", false},
		"carried, told again":                    {active, Up, "ReserveStart Released Created 1 0 active", "", false},
		"carried no more":                        {active, Down, "ReserveStart Released Created 1 0", "dataPlaneStateChange", false},
	} {
		got, tell, err := Next(x.from, x.event)
		text := fmt.Sprintf("%s %s %s %d %d", got.Reservation, got.Provision, got.Lifecycle, got.Version, got.Held)
		if got.Active {
			text += " active"
		}
		if x.bad {
			if !errors.Is(err, ErrTransition) || got != x.from {
				t.Errorf("%s: %s, %v", name, text, err)
			}
			continue
		}
		if err != nil || text != x.want || tell != x.tell {
			t.Errorf("%s: %s, tells %q, %v; want %s, %q", name, text, tell, err, x.want, x.tell)
		}
	}
}

// No two rows answer one event of one machine in one state.
func TestTheTableIsAFunction(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range Table {
		key := fmt.Sprint(row.Machine, " ", row.From, " ", row.On)
		if seen[key] {
			t.Errorf("two rows for %s", key)
		}
		seen[key] = true
	}
}
