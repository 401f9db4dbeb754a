package push

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/trace"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/driver"
	"github.com/millrace/millrace/services/push/rollout"
)

// run performs what services/push/rollout decides for one change set: it applies it, or rolls it back. Only its own
// goroutine touches cs, record, revision and moves.
type run struct {
	c  *Component
	cs rollout.ChangeSet
	// record is what etcd has at revision; the first base steps of its history are not of this run, moves are.
	record   *pushv1.ChangeSet
	revision int64
	base     int
	moves    []*pushv1.Transition
	held     *state.Lock
	// told is how many steps of the history were announced.
	told int
	// takenUp: it goes on with what another run began.
	takenUp bool

	// changes, intended and extra are by router, and never change: what is sent, the plan (see effects), and how
	// much longer than CallTimeout, CommitTimeout and VerifyFor it may take, see allowance.
	changes  map[string][]diff.Change
	intended map[string]map[string]string
	extra    map[string]time.Duration
	// expected is the whole configuration after it; it is read under the locks, before any router is spoken to.
	expected map[string]map[string]string
	// rollback is how long a router waits for its confirmation, sending how long its commit may take until then.
	rollback, sending time.Duration

	events chan news
	// slots bounds how many routers are spoken to at once.
	slots chan struct{}
	asked sync.WaitGroup
	since map[string]time.Time
	// id, the routers' names, whether it is a rollback (back), and the canary, if it goes first now, never change;
	// reading ends what only reads, where the run stops.
	id, canary  string
	back        bool
	routers     []string
	reading     context.Context
	stopReading context.CancelFunc

	master driver.Master
	mu     sync.Mutex
	open   map[string]driver.Driver
}

// news is an event, and the locks with what was found under them where the event is that they are held.
type news struct {
	rollout.Event
	held     *state.Lock
	record   *pushv1.ChangeSet
	revision int64
	master   driver.Master
}

// newRun is a run of a record with its contents.
func (c *Component) newRun(m *pushv1.ChangeSet, revision int64, cs rollout.ChangeSet) *run {
	r := &run{
		c: c, id: cs.ID, cs: cs, record: m, revision: revision, base: len(m.GetHistory()), told: len(m.GetHistory()),
		changes: map[string][]diff.Change{}, intended: map[string]map[string]string{}, extra: map[string]time.Duration{}, since: map[string]time.Time{},
		events: make(chan news, len(m.GetDevices())+1), slots: make(chan struct{}, parallelRouters), open: map[string]driver.Driver{},
	}
	r.routers = touched(m.GetDevices())
	r.back = cs.State == rollout.RollingBack
	if !r.back {
		r.canary = m.GetCanary()
	}
	waves := setWaves(r.cs.Routers, m.GetDevices(), r.back, r.canary != "")
	for _, d := range m.GetDevices() {
		changes := changesFromProto(d.GetEntries())
		if r.back {
			changes = diff.Reverse(changes)
		} else { // a rollback looks for no effects of its configuration
			r.intended[d.GetDevice()] = entriesOf(d.GetPlan())
		}
		r.changes[d.GetDevice()], r.extra[d.GetDevice()] = changes, allowance(changes, c.cfg.CommitRate)
	}
	r.rollback, r.sending = rollbackAfter(c.cfg, waves, r.extra), sendingFor(c.cfg, r.routers, r.extra)
	return r
}

// setWaves numbers the routers' waves: those of one rank at once, make before break, and a rollback the other way
// round. The canary, the first router, is a wave of its own.
func setWaves(routers []rollout.Router, devices []*pushv1.DeviceChange, back, canary bool) (waves [][]string) {
	last := -1
	for i, d := range devices {
		if rank(d) != last || canary && i == 1 {
			waves = append(waves, nil)
		}
		last = rank(d)
		routers[i].Wave = len(waves) - 1
		waves[len(waves)-1] = append(waves[len(waves)-1], d.GetDevice())
	}
	for i := range routers {
		if back {
			routers[i].Wave = len(waves) - 1 - routers[i].Wave
		}
	}
	return waves
}

// do runs the change set to its end, beginning with these actions. If ctx ends or the locks are lost, nothing more is
// sent or recorded, and the process that finds the change set takes it up from its record.
func (r *run) do(ctx context.Context, actions []rollout.Action) {
	ctx, span := trace.Child(trace.Resume(ctx, r.record.GetTraceParent()), "roll out change set")
	span.Set("change", r.id)
	defer func() { r.endSpan(span) }()
	ctx, cancel := context.WithCancel(ctx)
	defer r.close()
	defer r.asked.Wait()
	defer cancel()
	r.reading, r.stopReading = context.WithCancel(ctx)
	defer r.stopReading()
	r.asked.Go(func() { r.watchStops(ctx) })
	r.perform(ctx, actions)
	for r.cs.Running() {
		var n news
		select {
		case n = <-r.events:
		case <-r.lost():
			n.Kind = rollout.LockLost
		case <-ctx.Done():
			r.c.deps.Log.Info("change set interrupted; the next start takes it up", "change", r.id)
			return
		}
		r.take(ctx, n)
	}
}

// endSpan tells how the rollout ended, as failed where the change set did.
func (r *run) endSpan(span trace.Span) {
	span.Set("state", string(r.cs.State))
	var err error
	if r.cs.State == rollout.Failed {
		err = errors.New("the change set failed")
	}
	span.End(err)
}

// take is one turn: decide, record, act. Events that have come meanwhile are decided in the same turn.
func (r *run) take(ctx context.Context, n news) {
	r.hold(n)
	list := []rollout.Event{n.Event}
	for len(r.events) > 0 {
		more := <-r.events
		r.hold(more)
		list = append(list, more.Event)
	}
	next, actions, err := r.decide(ctx, list)
	if err == nil {
		err = r.write(ctx, next, actions)
	}
	if err != nil {
		if ctx.Err() == nil {
			r.c.deps.Log.Warn("change set is left to the process that has its routers' locks", "change", r.id, "error", err)
		}
		next, actions = rollout.Next(r.cs, rollout.Event{Kind: rollout.LockLost})
	}
	r.cs = next
	r.perform(ctx, actions)
}

// hold keeps the locks that came with an event, and what was found under them.
func (r *run) hold(n news) {
	if n.held != nil {
		r.held, r.record, r.revision, r.master = n.held, n.record, n.revision, n.master
	}
}

// decide runs the state machine, and runs it again with a stop before these events where commits, or the first
// confirmation, would be sent while that is forbidden.
func (r *run) decide(ctx context.Context, list []rollout.Event) (rollout.ChangeSet, []rollout.Action, error) {
	next, actions := nextAfter(r.cs, list)
	why, err := r.mayStop(ctx, next, actions)
	if why != "" {
		list = slices.Insert(list, 0, rollout.Event{Kind: rollout.Stop, Text: why})
		next, actions = nextAfter(r.cs, list)
	}
	if slices.ContainsFunc(list, func(e rollout.Event) bool { return e.Kind == rollout.Stop }) {
		r.stopReading()
	}
	return next, actions, err
}

// nextAfter is the change set after these events, and what to do.
func nextAfter(cs rollout.ChangeSet, list []rollout.Event) (rollout.ChangeSet, []rollout.Action) {
	var actions []rollout.Action
	for _, e := range list {
		var more []rollout.Action
		cs, more = rollout.Next(cs, e)
		actions = append(actions, more...)
	}
	return cs, actions
}

func (r *run) lost() <-chan struct{} {
	if r.held == nil {
		return nil
	}
	return r.held.Lost()
}

func (r *run) close() {
	if r.held != nil {
		r.held.Release()
	}
	for _, open := range r.open {
		open.Close()
	}
}

// perform does actions in the background; each ends with an event.
func (r *run) perform(ctx context.Context, actions []rollout.Action) {
	for _, a := range actions {
		switch a.Do {
		case rollout.Lock:
			record := r.record
			r.asked.Go(func() { r.takeLock(ctx, a.Again, record) })
		case rollout.Unlock: // by close
		default:
			late := r.lateness(a)
			r.asked.Go(func() {
				if a.Again {
					lifecycle.Pause(ctx, poll)
				}
				r.slots <- struct{}{}
				over := late()
				e := r.at(r.contextOf(ctx, a), a)
				<-r.slots
				e.Late = over
				r.happened(ctx, news{Event: e})
			})
		}
	}
}

// contextOf is of one action: what only reads ends as soon as the run stops.
func (r *run) contextOf(ctx context.Context, a rollout.Action) context.Context {
	if a.Do.IsSet() {
		return ctx
	}
	return r.reading
}

func (r *run) happened(ctx context.Context, n news) {
	select {
	case r.events <- n:
	case <-ctx.Done():
		if n.held != nil {
			n.held.Release()
		}
	}
}

// takeLock locks the routers, and begins from the record only if no other process has changed it meanwhile.
func (r *run) takeLock(ctx context.Context, again bool, record *pushv1.ChangeSet) {
	if again {
		lifecycle.Pause(ctx, poll)
	}
	held, e := r.lock(ctx)
	n := news{Event: e}
	if held != nil {
		if n = r.begin(ctx, held, record); n.held == nil {
			held.Release()
		}
	}
	r.happened(ctx, n)
}

// begin looks around under the lock.
func (r *run) begin(ctx context.Context, held *state.Lock, record *pushv1.ChangeSet) news {
	fresh, revision, err := r.c.load(ctx, r.id)
	if err == nil && !sameProgress(fresh, record) {
		return news{Event: rollout.Event{Kind: rollout.Elsewhere}}
	}
	all, claimed := []*pushv1.ChangeSet(nil), ""
	if err == nil {
		all, err = r.c.readable(ctx)
		claimed = r.claimed(all)
	}
	if err == nil && claimed == "" {
		r.expected, err = r.expect(ctx, fresh, all)
	}
	var master driver.Master
	if err == nil && claimed == "" {
		master, err = r.c.master(ctx, held)
	}
	switch {
	case err != nil:
		return news{Event: rollout.Event{Kind: rollout.Held, Text: err.Error()}}
	case claimed != "":
		return news{Event: rollout.Event{Kind: rollout.Held, Text: claimed}}
	}
	return news{rollout.Event{Kind: rollout.Locked}, held, fresh, revision, master}
}

// sameProgress reports whether two records differ in nothing that a run decides by; a prediction may have been added.
func sameProgress(a, b *pushv1.ChangeSet) bool {
	same := a.GetState() == b.GetState() && len(a.GetHistory()) == len(b.GetHistory()) && len(a.GetDevices()) == len(b.GetDevices())
	for i := 0; same && i < len(a.GetDevices()); i++ {
		x, y := a.GetDevices()[i], b.GetDevices()[i]
		same = x.GetState() == y.GetState() && x.GetCommitId() == y.GetCommitId() && proto.Equal(x.GetRollbackAt(), y.GetRollbackAt())
	}
	return same
}
