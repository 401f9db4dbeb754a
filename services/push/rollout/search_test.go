package rollout

import (
	"fmt"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/testkit/search"
)

// steps are all things that may happen next; those that are faults take one of the faults that are left.
func (w *world) steps(l limits) (out []search.Step[*world]) {
	add := func(fault bool, label string, do func(n *world)) {
		if fault && w.faults == 0 {
			return
		}
		n := w.clone()
		if fault {
			n.faults--
		}
		do(n)
		out = append(out, search.Step[*world]{Label: label, Fault: fault, World: n})
	}
	for p := range w.procs {
		w.processSteps(p, l, add)
	}
	for i, q := range w.late {
		add(false, "a late "+string(q.Do)+" arrives at "+q.Router, func(n *world) {
			n.late = slices.Delete(n.late, i, i+1)
			n.arrive(q, l) // the sender does not wait for the answer
		})
	}
	for i, r := range w.record.Routers {
		name := r.Name
		if w.routers[i].pending != "" && !(w.routers[i].young && w.looking(name)) {
			add(false, "the time of the commit is over on "+name, func(n *world) { n.routers[i].expire() })
		}
		if !w.routers[i].full {
			add(true, "the disk is full on "+name, func(n *world) { n.routers[i].full = true })
		} else {
			add(false, "the disk has space on "+name, func(n *world) { n.routers[i].full = false })
		}
	}
	if claimed := InFlight(w.record); w.holder == 0 && w.routers[0].pending == "" && (l.noClaim || !slices.Contains(claimed, w.record.Routers[0].Name)) {
		add(true, "a rival changes "+w.record.Routers[0].Name, func(n *world) { n.rival() })
	}
	if w.holder != 0 {
		add(true, "the locks are lost", func(n *world) { n.holder = 0 })
	}
	return out
}

// rival is another change set, on the first router, of the same content or another.
func (w *world) rival() {
	r := &w.routers[0]
	w.revision++
	r.term, r.turn = w.revision, 0
	r.config = map[config]config{'o': 'n', 'n': 'x', 'x': 'x'}[r.config]
	r.by, r.seen = 'b', false
}

func (w *world) processSteps(p int, l limits, add func(bool, string, func(*world))) {
	proc, name := w.procs[p], fmt.Sprintf("control plane %d", p+1)
	if !proc.cs.Running() && len(proc.requests) == 0 {
		free := w.holder == 0 && (p == 0 || w.procs[0].cs.Running() || len(w.procs[0].requests) > 0)
		if w.record.State.InMotion() && free {
			add(false, name+" takes it up", func(n *world) { n.takeUp(p, l) })
		}
		return
	}
	add(true, name+" dies", func(n *world) {
		for _, q := range proc.requests {
			if q.Router != "" && q.Do.IsSet() && q.Do != Look {
				n.late = append(n.late, q)
			}
		}
		n.procs[p] = process{}
		if n.holder == p+1 {
			n.holder = 0 // the lease expires
		}
	})
	if proc.lock != 0 && w.holder != p+1 {
		add(false, name+" notices that its locks are gone", func(n *world) { n.tell(p, Event{Kind: LockLost}, l); n.procs[p].lock = 0 })
	}
	if proc.cs.stopped == "" {
		add(true, name+" is told to stop", func(n *world) { n.tell(p, Event{Kind: Stop, Text: "frozen"}, l) })
	}
	for i := range proc.requests {
		w.requestSteps(p, i, l, add)
	}
}

func (w *world) requestSteps(p, i int, l limits, add func(bool, string, func(*world))) {
	q := w.procs[p].requests[i]
	what := fmt.Sprintf("%s %s %s", string(q.Do), q.Router, q.Commit)
	remove := func(n *world) { n.procs[p].requests = slices.Delete(n.procs[p].requests, i, i+1) }
	switch {
	case q.Do == Lock:
		add(false, "lock", func(n *world) { remove(n); n.lock(p, l) })
		if w.holder == 0 {
			add(true, "a rival has a lock", func(n *world) { remove(n); n.tell(p, Event{Kind: Held, Text: "held"}, l) })
		}
	case q.Do == Unlock:
		add(false, "unlock", func(n *world) {
			remove(n)
			if n.holder == p+1 && n.revision == n.procs[p].lock {
				n.holder = 0
			}
			n.procs[p].lock = 0
		})
	default:
		for _, late := range []bool{false, true} {
			if late && q.Do != Look || late && !q.read {
				continue
			}
			add(false, what, func(n *world) { n.do(p, i, late, l) })
			if q.half && !q.read {
				continue
			}
			add(true, what+" is not answered", func(n *world) {
				if q.Do.IsSet() && q.Do != Look {
					n.late = append(n.late, q)
				}
				remove(n)
				n.tell(p, Event{Kind: Answer, Router: q.Router, Ticket: q.Ticket, Result: Lost, Text: "no answer", Late: late}, l)
			})
		}
		if q.Do == Send || q.Do == Verify || q.Do == Watch || q.Do == Check || q.Do == SendUndo {
			add(true, what+" is refused", func(n *world) {
				remove(n)
				n.tell(p, Event{Kind: Answer, Router: q.Router, Ticket: q.Ticket, Result: Refused, Text: "refused"}, l)
			})
		}
	}
}

func (w *world) lock(p int, l limits) {
	if w.holder != 0 {
		w.tell(p, Event{Kind: Elsewhere}, l)
		return
	}
	w.revision++
	w.holder, w.procs[p].lock = p+1, w.revision
	if !sameRecord(recorded(w.procs[p].cs), w.record) { // another process ran it meanwhile
		w.procs[p].cs = recorded(w.record)
		w.procs[p].lock, w.holder = 0, 0
		return
	}
	w.tell(p, Event{Kind: Locked}, l)
}

// takeUp is a process that finds the change set in motion and no other process running it.
func (w *world) takeUp(p int, l limits) {
	w.procs[p] = process{cs: recorded(w.record)}
	w.tell(p, Event{Kind: TakeUp}, l)
	w.procs[p].requests = nil
	w.lock(p, l)
}

// do is a request at its router, and its answer. A Look takes three steps: what is pending, the
// configuration, and what is pending again.
func (w *world) do(p, i int, late bool, l limits) {
	q := &w.procs[p].requests[i]
	r := &w.routers[w.index(q.Router)]
	if q.half && !q.read {
		q.read, q.side = true, w.side(r.config)
		return
	}
	e := w.arrive(*q, l)
	e.Late = late
	if q.Do == Look && e.Result == Done {
		q.pending = q.pending || r.pending != ""
		if !q.half {
			q.half = true
			return
		}
		e.Pending, e.Side = q.pending && !l.noPending, q.side
		if !q.pending && q.side == Before {
			w.see(r)
		}
		if e.Side == Other {
			e.Text = "somebody else changed it"
		}
	}
	w.procs[p].requests = slices.Delete(w.procs[p].requests, i, i+1)
	w.tell(p, e, l)
}

// begin is a change set that a person just requested to apply, or to roll back.
func begin(kind Kind, waves []int, canary string, faults int) *world {
	w := &world{faults: faults}
	w.record = ChangeSet{ID: "c", State: Approved, Canary: canary}
	for i, wave := range waves {
		w.record.Routers = append(w.record.Routers, Router{Name: fmt.Sprintf("r%d", i+1), Wave: wave, State: RouterPlanned})
		w.routers[i] = modelRouter{config: 'o', by: '-'}
	}
	if kind == Rollback {
		w.record.State = Verified
		for i := range w.record.Routers {
			w.record.Routers[i].State, w.record.Routers[i].Commit = RouterConfirmed, w.record.commitID(w.record.Routers[i])
			w.routers[i] = modelRouter{config: 'n', by: 'a'}
		}
	}
	for p := range w.procs {
		w.procs[p] = process{cs: w.record}
	}
	w.tell(0, Event{Kind: kind, By: "noc"}, limits{})
	return w
}

// space is the model with some of its guards removed; rows are the transitions that were seen.
func space(l limits, rows map[Transition]bool) search.Space[*world] {
	return search.Space[*world]{
		Steps: func(w *world) []search.Step[*world] { return w.steps(l) },
		Key:   (*world).key,
		Broken: func(w *world) string {
			if w.broken != "" {
				return w.broken
			}
			return w.look()
		},
		Ended: func(w *world) bool { return !w.record.State.InMotion() },
		Edge: func(from, to *world) {
			if from.record.State != to.record.State {
				rows[Transition{From: from.record.State, To: to.record.State}] = true
			}
		},
	}
}

// shapes are the change sets that are searched, and how many things may go wrong in one life of each. With few faults a
// search takes a third of a second.
var shapes = []struct {
	name        string
	kind        Kind
	waves       []int
	canary      string
	faults, few int
}{
	{"apply to one router", Apply, []int{0}, "", 3, 2},
	{"apply to one router, the canary", Apply, []int{0}, "r1", 2, 2},
	{"roll back one router", Rollback, []int{0}, "", 3, 2},
	{"apply to two routers one after the other", Apply, []int{0, 1}, "", 1, 0},
	{"apply to two routers, the first the canary", Apply, []int{0, 1}, "r1", 1, 0},
	{"apply to two routers at once", Apply, []int{0, 0}, "", 1, 0},
	{"roll back two routers one after the other", Rollback, []int{0, 1}, "", 1, 0},
}

// make mutants does without the searches that take longer.
func TestFewFaults(t *testing.T) {
	for _, shape := range shapes {
		if _, broken := space(limits{}, map[Transition]bool{}).Run(begin(shape.kind, shape.waves, shape.canary, shape.few)); broken != "" {
			t.Fatalf("%s:\n%s", shape.name, broken)
		}
	}
}

func TestExhaustive(t *testing.T) {
	total, rows := 0, map[Transition]bool{}
	for _, shape := range shapes {
		worlds, broken := space(limits{}, rows).Run(begin(shape.kind, shape.waves, shape.canary, shape.faults))
		if broken != "" {
			t.Fatalf("%s:\n%s", shape.name, broken)
		}
		t.Logf("%s, %d faults: %d states", shape.name, shape.faults, worlds)
		total += worlds
	}
	for _, row := range Table {
		if row.On == "" && !rows[Transition{From: row.From, To: row.To}] {
			t.Errorf("nothing led from %s to %s", row.From, row.To)
		}
	}
	t.Logf("states visited: %d", total)
}

// What the search is for: each guard that is taken away must be missed.
func TestTheSearchMissesEveryGuard(t *testing.T) {
	for _, guard := range []struct {
		name   string
		l      limits
		faults int
	}{
		{"records written under the lock", limits{noFence: true}, 2},
		{"a look at what is pending", limits{noPending: true}, 2},
		{"routers that refuse earlier masters", limits{noElection: true}, 2},
		{"other change sets that wait for this one", limits{noClaim: true}, 2},
	} {
		_, found := space(guard.l, map[Transition]bool{}).Run(begin(Apply, []int{0}, "", guard.faults))
		if found == "" {
			t.Errorf("without %s nothing breaks", guard.name)
		}
		t.Logf("without %s:\n%s", guard.name, found)
	}
}
