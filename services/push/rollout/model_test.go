package rollout

import (
	"slices"
	"strings"
)

// This file is the world around the machine, small enough to visit all of it: routers with commit-confirm, two
// control planes, an etcd lock and a record. Whatever may happen next is a step; search_test.go takes them all.

// change is what a router's configuration is: o before the change set, n after it, x neither.
type config byte

// modelRouter is a router that honours commit-confirm and master arbitration.
type modelRouter struct {
	config config
	by     byte // who made it so: - none, a the change set, b its rival
	// pending is the id of the commit that waits, was what it replaced.
	pending string
	was     config
	wasBy   byte
	// young: the commit arrived during a Look, which is over before the commit's time is.
	young bool
	// full: the disk takes no confirmation.
	full bool
	// seen: since the rollback was asked for it was seen to keep the change, and nobody has changed it since. sent: a
	// commit of the rollback was meant for it. Both are of rollbacks alone.
	seen, sent bool
	// term and turn are the highest that a Set had: its sender's lock, and the number of the request.
	term, turn int
}

// stale reports whether a later request than q was answered.
func (r modelRouter) stale(q request) bool {
	return q.term < r.term || q.term == r.term && q.Ticket < r.turn
}

// kept is what the router holds once nothing is pending.
func (r modelRouter) kept() (config, byte) {
	if r.pending != "" {
		return r.was, r.wasBy
	}
	return r.config, r.by
}

// request is an action under way: sent, or a Look half done. A router's answer is taken as soon as it is given,
// because nothing that may happen in between makes a difference: what the process does next arrives at routers
// later.
type request struct {
	Action
	set  config // what Send and SendUndo make of the router
	term int
	// half, read, pending and side are of a Look that is under way.
	half, read, pending bool
	side                Side
}

// process is a control plane.
type process struct {
	cs ChangeSet
	// lock is the revision under which it was given the locks, and its election id.
	lock     int
	requests []request
}

type world struct {
	record ChangeSet
	// holder has the locks: 0 none, else the process's number and one.
	holder, revision int
	procs            [2]process
	routers          [2]modelRouter
	// late are requests whose sender does not wait for them any more; they may still arrive.
	late   []request
	faults int
	// broken is the invariant that a step broke.
	broken string
}

// limits of the model, which tests take away to see that the search notices.
type limits struct{ noElection, noFence, noClaim, noPending bool }

func (w *world) clone() *world {
	out := *w
	out.record.Routers = slices.Clone(w.record.Routers)
	out.late = slices.Clone(w.late)
	for i := range out.procs {
		out.procs[i].requests = slices.Clone(w.procs[i].requests)
	}
	return &out
}

// recorded is what of a change set is in the record.
func recorded(cs ChangeSet) ChangeSet {
	out := ChangeSet{ID: cs.ID, State: cs.State, Attempt: cs.Attempt, Canary: cs.Canary}
	for _, r := range cs.Routers {
		out.Routers = append(out.Routers, Router{Name: r.Name, Wave: r.Wave, State: r.State, Commit: r.Commit, Error: r.Error})
	}
	return out
}

func sameRecord(a, b ChangeSet) bool {
	return a.State == b.State && a.Attempt == b.Attempt && slices.EqualFunc(a.Routers, b.Routers, func(x, y Router) bool {
		return x.State == y.State && x.Commit == y.Commit && (x.Error == "") == (y.Error == "")
	})
}

// tell passes an event to a process: it decides, records under its lock, and only then sends.
func (w *world) tell(p int, e Event, l limits) {
	proc := &w.procs[p]
	before := proc.cs
	next, actions := Next(before, e)
	moves := next.Moves
	next.Moves = nil
	if again, more := Next(next, e); e.Kind != Held && (len(more) > 0 && more[0].Do != Refuse || !sameRecord(recorded(again), recorded(next)) || again.phase != next.phase) {
		w.broken = "an event that is repeated has an effect"
	}
	rec := recorded(next)
	sets := slices.ContainsFunc(actions, func(a Action) bool { return a.Do.IsSet() })
	if sets && proc.lock == 0 {
		w.broken = "a Set without the lock"
	}
	if next.stopped != "" && slices.ContainsFunc(actions, func(a Action) bool { return a.Do == Send }) {
		w.broken = "a commit is sent after a stop"
	}
	if next.State == Canary && slices.ContainsFunc(actions, func(a Action) bool { return a.Do == Send && a.Router != next.Canary }) {
		w.broken = "another router is sent its part while the canary is watched"
	}
	changed := !sameRecord(rec, w.record) && !sameRecord(rec, recorded(before))
	if fresh := proc.lock == 0; (changed || sets) && !l.noFence && !w.may(p, fresh, before) {
		proc.cs, _ = Next(before, Event{Kind: LockLost})
		proc.requests, proc.lock = nil, 0
		return
	}
	proc.cs = next
	if changed {
		w.judge(rec, moves)
		w.record = rec
	}
	for _, a := range actions {
		w.send(p, a)
	}
	if !next.Running() {
		proc.requests = slices.DeleteFunc(proc.requests, func(r request) bool { return r.Do != Unlock })
	}
}

// may reports whether the store accepts a record of the process: under its lock, or, without one, where no
// other process wrote.
func (w *world) may(p int, fresh bool, before ChangeSet) bool {
	if fresh {
		return sameRecord(recorded(before), w.record)
	}
	return w.holder == p+1 && w.revision == w.procs[p].lock
}

func (w *world) send(p int, a Action) {
	r := request{Action: a, term: w.procs[p].lock}
	apply := w.procs[p].cs.State != RollingBack
	if a.Do == Send && !apply {
		w.routers[w.index(a.Router)].sent = true
	}
	r.set = 'o'
	if a.Do == Send && apply || a.Do == SendUndo && !apply {
		r.set = 'n'
	}
	w.procs[p].requests = append(w.procs[p].requests, r)
}

func (w *world) index(name string) int {
	return slices.IndexFunc(w.record.Routers, func(r Router) bool { return r.Name == name })
}

// arrive is a request at its router: what the router does, and what it answers.
func (w *world) arrive(q request, l limits) Event {
	r := &w.routers[w.index(q.Router)]
	e := Event{Kind: Answer, Router: q.Router, Ticket: q.Ticket, Result: Done}
	if q.Do.IsSet() && !l.noElection {
		if r.stale(q) {
			e.Result, e.Text = Refused, "another client is master"
			return e
		}
		r.term, r.turn = q.term, q.Ticket
		w.late = slices.DeleteFunc(w.late, func(q request) bool { return w.routers[w.index(q.Router)].stale(q) })
	}
	switch q.Do {
	case Check:
		if r.pending != "" || w.side(r.config) != Before {
			e.Result, e.Text = Refused, "drift"
			break
		}
		w.see(r)
	case Send, SendUndo:
		w.commit(r, q, &e)
	case Confirm:
		if r.pending != q.Commit || r.full {
			e.Result, e.Text = Refused, "not confirmed"
			break
		}
		r.pending = ""
		w.see(r)
	case Cancel:
		if r.pending != q.Commit {
			e.Result, e.Text = Refused, "not pending"
			break
		}
		r.expire()
	}
	return e
}

func (w *world) commit(r *modelRouter, q request, e *Event) {
	if r.pending != "" {
		e.Result, e.Text = Refused, "another commit is pending"
		return
	}
	if q.Do == SendUndo && r.by != 'a' && r.config != q.set {
		w.broken = "a rollback restored what was not ours"
	}
	r.pending, r.was, r.wasBy = q.Commit, r.config, r.by
	r.young = w.looking(q.Router)
	r.config, r.by, r.seen = q.set, 'a', false
}

// see is a router that answers what it keeps.
func (w *world) see(r *modelRouter) {
	r.seen = r.seen || w.record.State == RollingBack && r.pending == "" && w.side(r.config) == Before
}

func (w *world) looking(router string) bool {
	return slices.ContainsFunc(slices.Concat(w.procs[0].requests, w.procs[1].requests), func(q request) bool { return q.half && q.Router == router })
}

// expire is the end of the time of a commit, or a restart of the router.
func (r *modelRouter) expire() {
	if r.pending != "" {
		r.config, r.by, r.pending = r.was, r.wasBy, ""
	}
}

func (w *world) side(c config) Side {
	after := config('n')
	if w.record.State == RollingBack {
		after = 'o'
	}
	switch c {
	case after:
		return After
	case 'x':
		return Other
	}
	return Before
}

// judge compares a record that is about to be written with the routers.
func (w *world) judge(rec ChangeSet, moves []Move) {
	if rec.State != Verified && rec.State != RolledBack {
		return
	}
	if rec.State == Verified && w.record.State == RollingBack {
		w.judgeRefused(rec, moves[len(moves)-1].Note)
	}
	want := map[State]config{Verified: 'n', RolledBack: 'o'}[rec.State]
	for i, r := range rec.Routers {
		touched := r.State == RouterConfirmed || r.State == RouterRolledBack
		// A commit that arrives after its sender gave up rolls itself back; one that is pending is not verified.
		if kept, by := w.routers[i].kept(); by != 'b' && touched && (kept != want || w.record.State == Applied && rec.State == Verified && w.routers[i].config != want) {
			w.broken = string(rec.State) + " although " + r.Name + " does not keep it"
		}
	}
}

// judgeRefused is judge of a change set that is verified again because its rollback failed: it is in force everywhere
// only if every router was seen to keep it, and one that was not seen was sent nothing that it could have taken.
func (w *world) judgeRefused(rec ChangeSet, note string) {
	for i, r := range rec.Routers {
		switch at := w.routers[i]; {
		case at.seen:
		case strings.HasPrefix(note, inForceEverywhere):
			w.broken = "in force everywhere, although " + r.Name + " was not seen to keep it"
		case at.sent:
			w.broken = "verified, although " + r.Name + " was sent the old configuration, and was not seen to keep the change"
		}
	}
}

// look compares the record of a change set that has ended with the routers, whatever is still under way.
func (w *world) look() string {
	if w.record.State.InMotion() {
		return ""
	}
	for i, r := range w.record.Routers {
		kept, by := w.routers[i].kept()
		want := map[RouterState]config{RouterConfirmed: 'n', RouterRolledBack: 'o', RouterFailed: 'o', RouterPlanned: 'o'}[r.State]
		if by != 'b' && want != 0 && kept != want {
			return "recorded as " + string(r.State) + ", and " + r.Name + " keeps " + string(rune(kept))
		}
		if r.State == RouterUnknown && w.record.State != Failed {
			return string(w.record.State) + " with an unknown router"
		}
	}
	return ""
}

// key is equal for worlds that go on in the same way; tickets only distinguish an answer from an older one.
func (w *world) key(b []byte) []byte {
	text := func(s ...string) {
		for _, t := range s {
			b = append(append(b, t...), 0)
		}
	}
	flag := func(f ...bool) {
		for _, t := range f {
			b = append(b, map[bool]byte{true: 1}[t])
		}
	}
	changeSet := func(cs ChangeSet) {
		text(string(cs.State), string(cs.phase))
		b = append(b, byte(cs.wave), byte(cs.Attempt))
		flag(cs.resumed, cs.cause != "", cs.stopped != "")
		for _, r := range cs.Routers {
			text(string(r.State), r.Commit, string(r.doing))
			flag(r.Error != "", r.failed, r.resent, r.cause != "", r.overdue, r.seen)
			b = append(b, byte(r.undos))
		}
	}
	requests := func(list []request, cs ChangeSet) {
		for _, q := range list {
			text(string(q.Do), q.Router, q.Commit, string(q.side))
			b = append(b, byte(q.set), byte(q.term))
			flag(q.half, q.read, q.pending, q.Again)
			for _, r := range cs.Routers {
				flag(r.Name == q.Router && r.ticket == q.Ticket)
			}
		}
		b = append(b, 255)
	}
	changeSet(w.record)
	b = append(b, byte(w.holder), byte(w.revision), byte(w.faults))
	for _, p := range w.procs {
		b = append(b, byte(p.lock))
		changeSet(p.cs)
		requests(p.requests, p.cs)
	}
	for _, r := range w.routers {
		b = append(b, byte(r.config), r.by, byte(r.was), r.wasBy, byte(r.term))
		text(r.pending)
		flag(r.full, r.young, r.seen, r.sent)
	}
	requests(w.late, ChangeSet{})
	return b
}
