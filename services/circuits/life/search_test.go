package life

import (
	"flag"
	"testing"

	"github.com/millrace/millrace/internal/testkit/search"
)

var whole = flag.Bool("whole", false, "search with all faults: 1.7 million worlds, 50 s of processor time")

// row is a transition whatever event led to it.
type row struct{ from, to State }

func space(l limits, rows map[row]bool) search.Space[*world] {
	return search.Space[*world]{
		Steps:  func(w *world) []search.Step[*world] { return w.steps(l) },
		Key:    (*world).key,
		Broken: (*world).look,
		Ended:  (*world).ended,
		Edge: func(from, to *world) {
			if from.record.State != to.record.State {
				rows[row{from.record.State, to.record.State}] = true
			}
		},
	}
}

// shapes are what is searched: how many replicas there are, and how many things may go wrong in one life. With few
// faults a search takes a third of a second; with those of usual all of them take 20 s.
var shapes = []shape{
	{name: "two replicas", faults: 1},
	{name: "two replicas, and nobody deactivates it", stays: true, faults: 1, usual: 1},
	{name: "two replicas, and it is deactivated at first", off: true},
	{name: "two replicas, and it is updated", stays: true, updates: true, faults: 1},
	{name: "one replica, which dies and begins again", alone: true, stays: true, faults: 4, usual: 3, few: 3},
	{name: "one replica, and change sets of others leave it out", alone: true, stays: true, others: true, faults: 3, usual: 2, few: 2},
	{name: "one replica, and it is deactivated and activated", alone: true, faults: 3, usual: 3, few: 2},
	{name: "one replica, and it is updated", alone: true, stays: true, updates: true, faults: 3, usual: 3, few: 2},
}

type shape struct {
	name                               string
	alone, stays, off, updates, others bool
	faults, usual, few                 int
}

func begin(s shape, faults int) *world {
	w := &world{
		record: Circuit{State: Held, Start: start, End: end, Expires: expires, Deactivated: s.off},
		booked: 2, paths: [2]bool{true, true}, faults: faults, alone: s.alone, stays: s.stays, updates: s.updates, others: s.others,
	}
	for p := range w.replicas {
		w.read(&w.replicas[p])
	}
	return w
}

// make mutants does without the searches that take longer.
func TestFewFaults(t *testing.T) {
	for _, shape := range shapes {
		if _, broken := space(limits{}, map[row]bool{}).Run(begin(shape, shape.few)); broken != "" {
			t.Fatalf("%s:\n%s", shape.name, broken)
		}
	}
}

func TestExhaustive(t *testing.T) {
	total, rows := 0, map[row]bool{}
	for _, shape := range shapes {
		faults := shape.usual
		if *whole {
			faults = shape.faults
		}
		worlds, broken := space(limits{}, rows).Run(begin(shape, faults))
		if broken != "" {
			t.Fatalf("%s:\n%s", shape.name, broken)
		}
		t.Logf("%s, %d faults: %d worlds", shape.name, faults, worlds)
		total += worlds
	}
	for _, tr := range Table {
		if !rows[row{tr.From, tr.To}] {
			t.Errorf("nothing led from %s to %s", tr.From, tr.To)
		}
	}
	t.Logf("worlds visited: %d", total)
}

// What the search is for: each guard that is taken away must be missed. What is not followed is missed by one replica
// as by two, and in world 974 instead of 478,642.
func TestTheSearchMissesEveryGuard(t *testing.T) {
	for name, c := range map[string]struct {
		without limits
		alone   bool
	}{
		"records that only follow the one they were decided on": {without: limits{blind: true}},
		"asking twice makes one change set":                     {without: limits{twice: true}},
		"change sets are followed after they were verified":     {without: limits{deaf: true}, alone: true},
		"the record is written before it is acted on":           {without: limits{hasty: true}},
	} {
		worlds, found := space(c.without, map[row]bool{}).Run(begin(shape{stays: true, alone: c.alone}, 1))
		if found == "" {
			t.Errorf("without the guard %q nothing breaks", name)
		}
		t.Logf("without the guard %q, in world %d:\n%s", name, worlds, found)
	}
}
