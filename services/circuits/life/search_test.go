package life

import (
	"testing"

	"github.com/millrace/millrace/internal/testkit/search"
)

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
// faults a search takes a third of a second.
var shapes = []struct {
	name              string
	alone, stays, off bool
	faults, few       int
}{
	{"two replicas", false, false, false, 1, 0},
	{"two replicas, and it is deactivated at first", false, false, true, 0, 0},
	{"one replica, which dies and begins again", true, true, false, 5, 3},
	{"one replica, and it is deactivated and activated", true, false, false, 3, 2},
}

func begin(alone, stays, off bool, faults int) *world {
	w := &world{
		record: Circuit{State: Held, Start: start, End: end, Expires: expires, Deactivated: off},
		path:   true, faults: faults, alone: alone, stays: stays,
	}
	for p := range w.replicas {
		w.replicas[p].knows = w.record
	}
	return w
}

// make mutants does without the searches that take longer.
func TestFewFaults(t *testing.T) {
	for _, shape := range shapes {
		if _, broken := space(limits{}, map[row]bool{}).Run(begin(shape.alone, shape.stays, shape.off, shape.few)); broken != "" {
			t.Fatalf("%s:\n%s", shape.name, broken)
		}
	}
}

func TestExhaustive(t *testing.T) {
	total, rows := 0, map[row]bool{}
	for _, shape := range shapes {
		worlds, broken := space(limits{}, rows).Run(begin(shape.alone, shape.stays, shape.off, shape.faults))
		if broken != "" {
			t.Fatalf("%s:\n%s", shape.name, broken)
		}
		t.Logf("%s, %d faults: %d worlds", shape.name, shape.faults, worlds)
		total += worlds
	}
	for _, tr := range Table {
		if !rows[row{tr.From, tr.To}] {
			t.Errorf("nothing led from %s to %s", tr.From, tr.To)
		}
	}
	t.Logf("worlds visited: %d", total)
}

// What the search is for: each guard that is taken away must be missed.
func TestTheSearchMissesEveryGuard(t *testing.T) {
	for name, l := range map[string]limits{
		"records that only follow the one they were decided on": {blind: true},
		"asking twice makes one change set":                     {twice: true},
		"change sets are followed after they were verified":     {deaf: true},
		"the record is written before it is acted on":           {hasty: true},
	} {
		_, found := space(l, map[row]bool{}).Run(begin(false, true, false, 1))
		if found == "" {
			t.Errorf("without the guard %q nothing breaks", name)
		}
		t.Logf("without the guard %q:\n%s", name, found)
	}
}
