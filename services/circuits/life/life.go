// Package life decides what a circuit may do next. It knows no clock, store, message format or router: the caller
// passes in what happened, and performs the actions that are returned.
//
// In: a circuit and an event, such as the holder's commit, a moment of the clock, or how a change set ended. Out: the
// circuit after it, and actions: which change set to request, or what to look at. Next: services/circuits, which
// records the circuit, performs the actions and comes back with their events; docs/reference/circuit-states.md is made
// of the table.
//
// The contract is that of a write-ahead log. The caller records what Next returned, if the record is still the one
// that Next was given, before it performs any of the actions. So after a crash the record names the last change set
// that routers may have, and a replica that takes over the circuit begins from the record alone. A change set is asked
// for under a name made of the circuit and Circuit.Attempt: asking twice makes one.
//
// Mutation testing: 194 of 194 killed (docs/reference/mutants.md).
package life

// State of a circuit, as it is recorded.
type State string

// The states.
const (
	// Held capacity is free again at Circuit.Expires unless the holder commits.
	Held State = "held"
	// Committed: booked, and its path is not known to be there.
	Committed State = "committed"
	// Scheduled: booked, its path is there, and it waits for its start.
	Scheduled State = "scheduled"
	// Provisioning: routers are being given the circuit.
	Provisioning State = "provisioning"
	// Active: routers were proven to carry it, and its path was not lost since.
	Active State = "active"
	// Interrupted: routers were given it, and its path was lost since.
	Interrupted State = "interrupted"
	// Releasing: it is over, and routers are being rid of it.
	Releasing State = "releasing"
	// Released: no router has it any more.
	Released State = "released"
	// Expired: it was held, and not committed in time.
	Expired State = "expired"
	// Cancelled: given up before any router was sent anything.
	Cancelled State = "cancelled"
	// Lapsed: its end came before any router was sent anything.
	Lapsed State = "lapsed"
	// Failed: it could not be put on routers, or was removed from them by hand; no router has it.
	Failed State = "failed"
	// Deactivating: routers are being rid of it, and it keeps its capacity.
	Deactivating State = "deactivating"
)

// States are all of them, in the order of their numbers in the API.
var States = []State{
	Held, Committed, Scheduled, Provisioning, Active, Interrupted, Releasing, Released, Expired, Cancelled, Lapsed, Failed, Deactivating,
}

// Books reports whether a circuit in this state has its capacity. That of one which routers may have is not given to
// anybody else.
func (s State) Books() bool {
	switch s {
	case Released, Expired, Cancelled, Lapsed, Failed:
		return false
	}
	return true
}

// Work is the change set that a circuit has requested last.
type Work string

// What a change set is for.
const (
	Nothing Work = ""
	// Installs gives routers the circuit.
	Installs Work = "installs"
	// Removes rids them of it.
	Removes Work = "removes"
)

// Circuit is what is decided about. All but Moves is in the record.
type Circuit struct {
	State State
	// Start, End and Expires are moments, in seconds of any one clock. A circuit has its capacity from Start until just
	// before End.
	Start, End, Expires int64
	// Extensions counts how often the hold was extended.
	Extensions int
	// Work and Attempt name the last change set, Open reports that it has not ended.
	Work    Work
	Attempt int
	Open    bool
	// Before counts the change sets from before it was put on routers this time.
	Before int
	// Deactivated: it is kept off routers.
	Deactivated bool
	// Gone: the topology lacks some link of the path. Doubt: it did once since routers were asked to take the circuit.
	Gone, Doubt bool
	// Verified is the attempt that routers were read to have last, 0 for none. Where it is not the last attempt,
	// routers may have the circuit as it was before that: on another path, or at another rate.
	Verified int
	// Renewed: some change set was to give it to routers that had it already.
	Renewed bool
	// Undone counts the change sets that were undone one after the other.
	Undone int
	// Looks numbers looks at routers, so that the answer to one from before the path was lost again proves nothing.
	Looks int
	// Moves are the transitions since the record was read.
	Moves []Move
}

// Move is one transition, for the history.
type Move struct {
	From, To State
	By, Note string
}

// Self signs transitions that no client requested.
const Self = "services/circuits"

// The limits.
const (
	// MaxExtensions is how often a hold can be extended: held capacity that nobody pays for is refused to others.
	MaxExtensions = 3
	// MaxInstalls is how many change sets are tried one after the other to put a circuit on routers before it fails.
	MaxInstalls = 3
)
