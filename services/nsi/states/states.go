// Package states decides what an NSI connection may do next: the reservation, provision and lifecycle state machines
// of the Connection Service 2.0 (GFD.212), and whether its data plane is active. It knows no clock, store, XML or
// circuit.
//
// In: a connection and an event, such as a requester's message, or how what was done for it ended. Out: the connection
// after it, and the message to send. Next: services/nsi, which records both in one transaction before it sends
// anything; docs/reference/nsi-states.md is made of the table.
//
// Mutation testing: 17 of 17 killed (docs/reference/mutants.md).
package states

import (
	"errors"
	"fmt"
)

// Reservation is a state of the reservation state machine.
type Reservation string

// The states of it.
const (
	Start      Reservation = "ReserveStart"
	Checking   Reservation = "ReserveChecking"
	Held       Reservation = "ReserveHeld"
	Committing Reservation = "ReserveCommitting"
	NotHeld    Reservation = "ReserveFailed"
	Timeout    Reservation = "ReserveTimeout"
	Aborting   Reservation = "ReserveAborting"
)

// Provision is a state of the provision state machine.
type Provision string

// The states of it.
const (
	Released     Provision = "Released"
	Provisioning Provision = "Provisioning"
	Provisioned  Provision = "Provisioned"
	Releasing    Provision = "Releasing"
)

// Lifecycle is a state of the lifecycle state machine.
type Lifecycle string

// The states of it.
const (
	Created       Lifecycle = "Created"
	Failed        Lifecycle = "Failed"
	PassedEndTime Lifecycle = "PassedEndTime"
	Terminating   Lifecycle = "Terminating"
	Terminated    Lifecycle = "Terminated"
)

// Connection is what is decided about.
type Connection struct {
	Reservation Reservation
	Provision   Provision
	Lifecycle   Lifecycle
	// Active: routers carry it.
	Active bool
	// Version is in force, 0 before the first commit. Held is the one that is requested, 0 for none.
	Version, Held int
}

// New is a connection before its first reserve.
func New() Connection {
	return Connection{Reservation: Start, Provision: Released, Lifecycle: Created}
}

// Event is what happened.
type Event string

// Messages of requesters.
const (
	Reserve   Event = "reserve"
	Commit    Event = "reserveCommit"
	Abort     Event = "reserveAbort"
	Provide   Event = "provision"
	Release   Event = "release"
	Terminate Event = "terminate"
)

// How what was done for them ended, what the clock brings, and what becomes of circuits.
const (
	ReserveDone    Event = "room is held"
	ReserveRefused Event = "there is no room"
	CommitDone     Event = "it is booked"
	CommitRefused  Event = "it cannot be booked"
	AbortDone      Event = "it is given back"
	ProvideDone    Event = "routers may have it"
	ReleaseDone    Event = "routers may not have it"
	TerminateDone  Event = "it is given up"
	HoldOver       Event = "the hold is over"
	EndTime        Event = "its end came"
	Forced         Event = "the network gave it up"
	Up             Event = "routers carry it"
	Down           Event = "routers do not carry it"
)

// Asked are the messages of requesters.
var Asked = []Event{Reserve, Commit, Abort, Provide, Release, Terminate}

// ErrTransition: the state machines do not allow a requester's message: error 00201.
var ErrTransition = errors.New("the state does not allow it")

// Next is the connection after an event, and the name of the message to send, empty for none. A requester's message
// that is not allowed is an error. Any other event that is not in the table has no effect: it arrives late, or twice.
func Next(c Connection, e Event) (next Connection, tell string, err error) {
	for _, t := range Table {
		if t.On == e && t.from(c) {
			return t.to(c), t.Tell, nil
		}
	}
	for _, asked := range Asked {
		if e == asked {
			return c, "", fmt.Errorf("%s: %w: %s, %s, %s", e, ErrTransition, c.Reservation, c.Provision, c.Lifecycle)
		}
	}
	return c, "", nil
}

func (t Transition) from(c Connection) bool {
	if t.Committed && c.Version == 0 || t.Living && c.Lifecycle != Created {
		return false
	}
	switch t.Machine {
	case "reservation":
		return string(c.Reservation) == t.From
	case "provision":
		return string(c.Provision) == t.From
	case "data plane":
		return activity(c) == t.From
	}
	return string(c.Lifecycle) == t.From
}

func (t Transition) to(c Connection) Connection {
	switch t.Machine {
	case "reservation":
		c.Reservation = Reservation(t.To)
		c.Version, c.Held = t.versions(c)
	case "provision":
		c.Provision = Provision(t.To)
	case "data plane":
		c.Active = t.To == "active"
	default:
		c.Lifecycle = Lifecycle(t.To)
	}
	return c
}

// versions are the one in force and the held one after a transition of the reservation.
func (t Transition) versions(c Connection) (int, int) {
	switch {
	case t.On == Reserve:
		return c.Version, c.Version + 1
	case t.On == CommitDone:
		return c.Held, 0
	case t.To == string(Start):
		return c.Version, 0
	}
	return c.Version, c.Held
}

func activity(c Connection) string {
	if c.Active {
		return "active"
	}
	return "inactive"
}
