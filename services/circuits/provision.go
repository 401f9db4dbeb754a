package circuits

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/lifecycle"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
	"github.com/millrace/millrace/services/circuits/provision"
)

// provisioner puts circuits on routers at their start and takes them off at their end. It has nothing in memory that
// matters: each round begins from the records, so any replica goes on where another one died, and two do the same.
type provisioner struct {
	*Component
	changes pushv1connect.ChangeServiceClient
	// patience is how long a question is given: a connection that is half open never answers.
	patience time.Duration
	// read and swept are when routers were read last, and when all that is in force was compared.
	read, swept time.Time

	mu sync.Mutex
	// asking are the change sets that are being requested here.
	asking map[string]bool
	logged string
}

// The paces of rounds.
const (
	// pace is the shortest time between two rounds.
	pace = 150 * time.Millisecond
	// gather is how long a round waits for what happens together, such as the ends of several circuits.
	gather = 100 * time.Millisecond
	// readEvery is the shortest time between two readings of routers of interrupted circuits.
	readEvery = time.Second
	// sweepEvery is how often circuits are compared with what change sets left on routers.
	sweepEvery = 5 * time.Second
)

// patience of a provisioner: InForce reads routers, each of which has some seconds.
const patience = 30 * time.Second

func newProvisioner(c *Component) *provisioner {
	return &provisioner{Component: c, changes: c.deps.Changes, patience: patience, asking: map[string]bool{}}
}

// provision goes round until Stop.
func (p *provisioner) provision(ctx context.Context) {
	for ctx.Err() == nil {
		_, changed := p.ledger.Read()
		open, err := p.round(ctx)
		p.log(ctx, err)
		lifecycle.Pause(ctx, pace)
		if open {
			continue
		}
		select {
		case <-ctx.Done():
		case <-changed:
			lifecycle.Pause(ctx, gather)
		case <-time.After(tick):
		}
	}
}

// log logs an error once, until another one occurs.
func (p *provisioner) log(ctx context.Context, err error) {
	if ctx.Err() != nil || errors.Is(err, ledger.ErrNotRead) {
		return
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != p.logged {
		p.deps.Log.WarnContext(ctx, "circuits are put on routers later", "error", err)
	}
	p.logged = text
}

// round does what is due; it says whether a change set is under way. A failed step is repeated in a later round.
func (p *provisioner) round(ctx context.Context) (open bool, err error) {
	all, err := p.scan()
	if err != nil {
		return false, err
	}
	begun, now := false, p.deps.Now().Unix()
	for _, c := range all {
		if provision.IsLate(c.Circuit, now) {
			err = errors.Join(err, p.tellLate(ctx, c))
		}
		if e, due := provision.Begin(c.Circuit, now, int64(p.cfg.Provision.Lead/time.Second)); due {
			err, begun = errors.Join(err, p.begin(ctx, c, e, now)), true
		}
	}
	if begun {
		var again error
		if all, again = p.scan(); again != nil {
			return false, errors.Join(err, again)
		}
	}
	underWay, followed := p.follow(ctx, all)
	err = errors.Join(err, followed, p.prove(ctx, all))
	err = errors.Join(err, p.ask(ctx, all, underWay), p.sweep(ctx))
	open = slices.ContainsFunc(all, func(c *carried) bool { return c.Life.Open || c.Life.State == life.Interrupted })
	return open, err
}

// carried is a circuit that routers have, or are to have.
type carried struct {
	provision.Circuit
	record *circuitsv1.Record
	// ingress is the router where it begins, ends are those that have an LSP of it, routers are all of its path; empty
	// where the topology does not know one.
	ingress       string
	ends, routers []string
}

// scan lists the circuits that need something.
func (p *provisioner) scan() (out []*carried, err error) {
	now := p.deps.Now().Unix()
	lead := int64(p.cfg.Provision.Lead / time.Second)
	err = p.ledger.Look("", func(all func(func(*circuitsv1.Record) bool)) {
		for r := range all {
			l := ledger.LifeOf(r)
			waits := (l.State == life.Scheduled || l.State == life.Committed) && !l.Deactivated && now+lead >= l.Start
			if !waits && !l.Open && l.State != life.Interrupted {
				continue
			}
			out = append(out, p.book.carried(r, now))
		}
	})
	return out, err
}

// carried is what provision knows of a record.
func (b *book) carried(r *circuitsv1.Record, now int64) *carried {
	l := r.GetLife()
	c := &carried{record: r, Circuit: provision.Circuit{
		ID: r.GetCircuit().GetId(), Life: ledger.LifeOf(r), Traffic: len(r.GetCircuit().GetTerms().GetPairs()) > 0 || between(r.GetCircuit().GetTerms()), Late: r.GetCircuit().GetLate(),
		Punctual: r.GetCircuit().GetTerms().GetActivation() == 0 && r.GetCircuit().GetReady() == nil,
		Change:   l.GetChange(), ChangeAttempt: int(l.GetChangeAttempt()), Asked: l.GetAsked(), Tries: int(l.GetTries()), Settled: int(l.GetSettledTries()),
	}}
	c.Early = b.ahead(r, now) != nil
	for _, h := range r.GetCircuit().GetPath() {
		if len(c.routers) == 0 {
			c.routers = append(c.routers, b.label(h.GetFrom()))
		}
		c.routers = append(c.routers, b.label(h.GetTo()))
	}
	if len(c.routers) > 0 {
		c.ingress = c.routers[0]
	}
	c.ends = []string{c.ingress}
	for _, h := range r.GetCircuit().GetBack() {
		c.ends = []string{c.ingress, c.routers[len(r.GetCircuit().GetPath())]}
		if name := b.label(h.GetTo()); !slices.Contains(c.routers, name) {
			c.routers = append(c.routers, name)
		}
	}
	return c
}

// label is a router's name by its id, empty where the topology does not know it.
func (b *book) label(id string) string {
	at, err := netip.ParseAddr(id)
	if err != nil || b.topo == nil || b.topo.Node(at) == nil {
		return ""
	}
	return b.topo.Node(at).Label()
}

// ahead is the record of a circuit that has its capacity from now on, before its start; nil where others have it until
// then, or the circuit does not wait for its start.
func (b *book) ahead(r *circuitsv1.Record, now int64) *circuitsv1.Record {
	l, slots := ledger.LifeOf(r), grantOf(r).Slots
	if b.admit == nil || l.State != life.Scheduled || l.Deactivated || len(slots) == 0 {
		return nil
	}
	if now >= slots[0].Start {
		return r
	}
	for _, h := range hops(r.GetCircuit()) {
		of, err := b.admit.Calendar(h.GetLink())
		if err != nil || of.LeastFree(calendar.Window{Start: now, End: slots[0].Start}, capOf(r.GetCircuit().GetTerms())) < slots[0].Rate {
			return nil
		}
	}
	is := proto.CloneOf(r)
	is.Circuit.Slots[0].Start = moment(now)
	if b.mayKeep(r, is) != nil {
		return nil
	}
	return is
}

// begin puts a circuit on routers. Before its start its slots begin now: nobody else is granted what routers have.
func (p *provisioner) begin(ctx context.Context, c *carried, e life.Event, now int64) error {
	has := now >= c.Life.Start
	if !has {
		_, err := p.ledger.Rebook(ctx, c.ID, func(was *circuitsv1.Record) (*circuitsv1.Record, error) {
			is := p.book.ahead(was, now)
			if has = is != nil; is == was {
				return nil, nil
			}
			return is, nil
		})
		if err != nil || !has {
			return err
		}
	}
	_, err := p.tell(ctx, c.ID, e)
	return err
}

// tellLate reports once that a circuit's start is over and routers were not proven to carry it.
func (p *provisioner) tellLate(ctx context.Context, c *carried) error {
	ours := false
	record, err := p.amend(ctx, c.ID, func(r *circuitsv1.Record) bool {
		ours = !r.GetCircuit().GetLate()
		r.GetCircuit().Late = true
		return ours
	})
	if err != nil || !ours {
		return err
	}
	p.metrics.starts.WithLabelValues(tooLate).Inc()
	t := record.GetCircuit().GetTerms()
	p.events.Publish(ctx, events.CircuitLate, c.ID, fmt.Sprintf("Circuit %s of project %s, %s to %s, should have begun at %s and is %s.",
		c.ID, t.GetProject(), t.GetFrom(), t.GetTo(), time.Unix(c.Life.Start, 0).UTC().Format(time.RFC3339), c.Life.State))
	return nil
}
