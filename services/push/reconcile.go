package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/state"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/drift"
)

// reader reads routers again after their change set has ended.
type reader struct {
	records records
	// again requests a reading of a router now.
	again map[string]chan struct{}
	// slots bounds how many routers are read at once.
	slots chan struct{}

	mu sync.Mutex
	// undecided returns the reason why a router's last reading decided nothing; empty where it did.
	undecided map[string]string
}

// Why a router was not compared.
const (
	notReadYet  = "it has not been read since the control plane started"
	nothingHere = "no change set is in force on it, so nothing there is Millrace's"
	notEnded    = "a change set on it has not ended, or its outcome is unknown"
	neverRead   = "no router is read again after its change set (push.reconcile.every is 0)"
)

// ended notes how a reading ended.
func (r *reader) ended(router string, j judgement, err error) {
	why := ""
	switch {
	case err != nil:
		why = "it could not be read: " + cutText(oneLine(err), maxText)
	case j.reading != drift.Unjudged:
	case j.force.known == drift.Nothing:
		why = nothingHere
	default:
		why = notEnded
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.undecided[router] = why
}

// notCompared are the routers whose last reading decided nothing.
func (c *Component) notCompared() (out []*pushv1.NotCompared) {
	c.reader.mu.Lock()
	defer c.reader.mu.Unlock()
	for _, d := range c.deps.Inventory.Devices {
		why, read := c.reader.undecided[d.Name]
		switch {
		case !read && c.cfg.Reconcile.Every == 0:
			why = neverRead
		case !read:
			why = notReadYet
		}
		if why != "" {
			out = append(out, &pushv1.NotCompared{Router: d.Name, Reason: why})
		}
	}
	slices.SortFunc(out, func(a, b *pushv1.NotCompared) int { return cmp.Compare(a.GetRouter(), b.GetRouter()) })
	return out
}

func newReader(inventory *device.Inventory) *reader {
	r := &reader{again: map[string]chan struct{}{}, undecided: map[string]string{}, slots: make(chan struct{}, parallelRouters)}
	for _, d := range inventory.Devices {
		r.again[d.Name] = make(chan struct{}, 1)
	}
	return r
}

// reconcileAll reads every router again and again until Stop.
func (c *Component) reconcileAll() error {
	if c.cfg.Reconcile.Every == 0 {
		return nil
	}
	for _, d := range c.deps.Inventory.Devices {
		c.runs.Go(func(ctx context.Context) { c.reconcileOne(ctx, d) })
	}
	return c.deps.Bus.Subscribe(c.runs.Context(), bus.TopicEvents, "push", c.reader.take)
}

// leastPause is how long a router is left alone after a reading, however often it reconnects.
const leastPause = 10 * time.Second

// reconcileOne begins at a random moment, so that the routers of a large network are not all read at once.
func (c *Component) reconcileOne(ctx context.Context, d device.Device) {
	every := c.cfg.Reconcile.Every
	for wait := time.Duration(rand.Float64() * float64(every)); ctx.Err() == nil; wait = drift.Next(every, rand.Float64()) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		case <-c.reader.again[d.Name]:
		}
		c.reader.slots <- struct{}{}
		err := c.reconcile(ctx, d)
		<-c.reader.slots
		if err != nil && ctx.Err() == nil {
			c.deps.Log.Info("running config not compared with the intended config; will try again", "router", d.Name, "error", err)
		}
		lifecycle.Pause(ctx, min(leastPause, every))
	}
}

// take is called with events of all services: a router that answers again may hold something else.
func (r *reader) take(_ context.Context, m bus.Message) error {
	e := &eventv1.Event{}
	if err := proto.Unmarshal(m.Value, e); err != nil {
		return nil // it would be no other the next time
	}
	if e.GetCode() == events.RouterReachable.Code() || e.GetCode() == events.TelemetryUp.Code() {
		select {
		case r.again[e.GetSubject()] <- struct{}{}:
		default: // a router without a change set, or requested already
		}
	}
	return nil
}

// reconcile reads one router and does what services/push/drift decides. Two control planes may do so at once: the one
// that records the drift first raises the event, and both request the same repair.
func (c *Component) reconcile(ctx context.Context, d device.Device) error {
	j, err := c.judge(ctx, d)
	c.reader.ended(d.Name, j, err)
	c.metrics.readings.WithLabelValues(string(j.reading)).Inc()
	if err != nil || j.reading == drift.Unjudged {
		return err
	}
	was, revision, err := c.driftOf(ctx, d.Name)
	if err != nil {
		return err
	}
	asked, err := c.askedFor(ctx, was, j)
	if err != nil {
		return err
	}
	row := drift.Decide(j.reading, memoryOf(was, j), asked, drift.Answer(c.cfg.Reconcile.Answer))
	c.metrics.drift.WithLabelValues(d.Name).Set(boolFloat(j.reading == drift.Differs))
	now := state.KeepUnknown(was, j.drift(was, c.now()))
	switch row.Do {
	case drift.Wait:
		return nil
	case drift.Forget, drift.Remember:
	case drift.Ask, drift.Run:
		cs, err := c.askRepair(ctx, was, j, row.Do == drift.Run)
		if err != nil {
			return err
		}
		now.Repair, now.Asked = cs.GetId(), timestamppb.New(c.now())
		j.repair = fmt.Sprintf("Change set %s, which repairs it, is %s.", cs.GetId(), strings.ReplaceAll(stateWord(cs.GetState()), "-", " "))
	}
	_, err = c.deps.State.Put(ctx, driftPrefix+d.Name, revision, now)
	if err == nil && row.Tell {
		c.tellDrift(ctx, now, j)
	}
	if errors.Is(err, state.ErrConflict) {
		return nil // another control plane remembers it
	}
	return err
}

func boolFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func memoryOf(was *pushv1.Drift, j judgement) drift.Memory {
	switch was.GetDigest() {
	case "":
		return drift.NoDrift
	case j.digest:
		return drift.SameDrift
	}
	return drift.AnotherDrift
}

// drift is what to remember of a judgement.
func (j judgement) drift(was *pushv1.Drift, now time.Time) *pushv1.Drift {
	out := &pushv1.Drift{Router: was.GetRouter(), Repair: was.GetRepair(), Asked: was.GetAsked()}
	if j.reading != drift.Differs {
		return out
	}
	out.Change, out.Entries, out.Diff, out.Digest = j.force.change.GetId(), uint32(len(j.changes)), cutText(j.diff, maxDriftDiff), j.digest
	if out.Since = was.GetSince(); was.GetDigest() == "" {
		out.Since = timestamppb.New(now)
	}
	return out
}

// The limits of the diff that is kept, and of the one in the event: a router that lost all has megabytes of it.
const (
	maxDriftDiff = 64 << 10
	maxEventDiff = 4 << 10
)

func (c *Component) tellDrift(ctx context.Context, now *pushv1.Drift, j judgement) {
	if j.reading == drift.AsLeft {
		c.events.Publish(ctx, events.ConfigDriftGone, now.GetRouter(), fmt.Sprintf("The running config of %s is again what change sets left.", now.GetRouter()))
		return
	}
	text := fmt.Sprintf("%s: %s.", j.sentence(now.GetRouter()), j.paths())
	if j.repair != "" {
		text += " " + j.repair
	}
	c.events.PublishDetail(ctx, events.ConfigDrift, now.GetRouter(), text, cutText(now.GetDiff(), maxEventDiff))
}
