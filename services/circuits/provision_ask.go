package circuits

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
	"github.com/millrace/millrace/services/circuits/provision"
)

// amend changes what of a record life does not decide on, unless change says that there is nothing to change.
func (p *provisioner) amend(ctx context.Context, id string, change func(*circuitsv1.Record) bool) (*circuitsv1.Record, error) {
	return p.ledger.Change(ctx, id, func(was *circuitsv1.Record) (*circuitsv1.Record, error) {
		is := proto.CloneOf(was)
		if !change(is) {
			return nil, nil
		}
		return is, nil
	})
}

// ask names a change set in the records of all circuits that need one, and requests it.
func (p *provisioner) ask(ctx context.Context, all []*carried, underWay bool) error {
	now := p.deps.Now().Unix()
	var list []provision.Circuit
	for _, c := range all {
		list = append(list, c.Circuit)
	}
	if p.restorer.busy.Load() {
		return nil // those that lost the same link go together
	}
	batch := provision.Batch(list, now, underWay)
	name := ""
	for _, c := range batch {
		if name == "" {
			name = provision.Name(c)
		}
		claimed, err := p.claim(ctx, c, name, now)
		switch {
		case err != nil:
			return err
		case !claimed && name == provision.Name(c):
			return nil // another replica requests one; the remaining circuits share the next
		}
	}
	if name != "" {
		p.create(name, batch)
	}
	return nil
}

// claim writes the name of the change set that a circuit requests into its record, unless the record is another one.
func (p *provisioner) claim(ctx context.Context, c provision.Circuit, name string, now int64) (claimed bool, err error) {
	_, err = p.amend(ctx, c.ID, func(r *circuitsv1.Record) bool {
		l := r.GetLife()
		claimed = int(l.GetTries()) == c.Tries && int(l.GetAttempt()) == c.Life.Attempt && ledger.LifeOf(r).State == c.Life.State
		l.Change, l.ChangeAttempt, l.Asked, l.Tries = name, l.GetAttempt(), now, l.GetTries()+1
		return claimed
	})
	return claimed, err
}

// askFor bounds one request for a change set, which is answered when it is planned, or a draft that
// waits for others.
const askFor = time.Minute

// create requests a change set, while rounds go on. Whether it was made the next round sees.
func (p *provisioner) create(name string, circuits []provision.Circuit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asking[name] {
		return
	}
	p.asking[name] = true
	ask := &pushv1.CreateRequest{
		Title: "Circuits", Author: life.Self, Reason: reason(circuits), Policy: p.cfg.Provision.Policy, IdempotencyKey: name, ForCircuits: true,
	}
	p.loops.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, askFor)
		defer cancel()
		_, err := p.changes.Create(ctx, connect.NewRequest(ask))
		p.metrics.asked(err)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.asking, name)
	})
}

// maxReason is how many circuits are named in the reason of a change set.
const maxReason = 10

// reason says for people which circuits begin and end.
func reason(circuits []provision.Circuit) string {
	var out []string
	for i, c := range circuits {
		if i == maxReason {
			out = append(out, fmt.Sprintf("and %d more", len(circuits)-i))
			break
		}
		what := "begins"
		switch {
		case c.Life.Work == life.Removes:
			what = "ends"
		case c.Life.Verified > 0:
			what = "changes"
		}
		out = append(out, fmt.Sprintf("circuit %s %s", c.ID, what))
	}
	return strings.Join(out, ", ")
}

// follow passes the outcome of change sets to their circuits, and requests lost ones again. It says whether
// any of them is on its way.
func (p *provisioner) follow(ctx context.Context, all []*carried) (underWay bool, err error) {
	byName := map[string][]*carried{}
	for _, c := range all {
		if c.Change != "" && c.Life.Open && c.ChangeAttempt == c.Life.Attempt {
			byName[c.Change] = append(byName[c.Change], c)
		}
	}
	for name, circuits := range byName {
		cs, asked := p.changeNamed(ctx, name)
		switch {
		case connect.CodeOf(asked) == connect.CodeNotFound:
			underWay = true
			var list []provision.Circuit
			for _, c := range circuits {
				list = append(list, c.Circuit)
			}
			p.create(name, list)
		case asked != nil:
			underWay, err = true, errors.Join(err, fmt.Errorf("ask for change set %q: %w", name, asked))
		default:
			underWay = underWay || provision.UnderWay(cs)
			for _, c := range circuits {
				err = errors.Join(err, p.judge(ctx, c, cs))
			}
		}
	}
	return underWay, err
}

// changeNamed is the change set that was made under a name.
func (p *provisioner) changeNamed(ctx context.Context, name string) (*pushv1.ChangeSet, error) {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	r, err := p.changes.Get(ctx, connect.NewRequest(&pushv1.GetRequest{IdempotencyKey: name}))
	if err != nil {
		return nil, err
	}
	return r.Msg.GetChange(), nil
}

// judge passes to a circuit what its change set means.
func (p *provisioner) judge(ctx context.Context, c *carried, cs *pushv1.ChangeSet) error {
	routers := c.routers
	if !c.known() {
		routers = cs.GetLeftAlone()
	}
	v := provision.Judge(c.Circuit, cs, c.ingress, routers)
	e := life.Event{Kind: v.Tell, Attempt: c.Life.Attempt, Text: v.Text}
	switch v.Do {
	case provision.Wait:
		return nil
	case provision.Again:
		return p.again(ctx, c, v.Text)
	case provision.Read:
		shown, err := p.shown(ctx, c)
		if err != nil || shown == missing || shown == unproven {
			return err
		}
		e.Kind = life.ChangeVerified
	}
	_, err := p.tell(ctx, c.ID, e)
	return err
}

// again gives a change set up that has ended without anything sent.
func (p *provisioner) again(ctx context.Context, c *carried, why string) error {
	given := false
	_, err := p.amend(ctx, c.ID, func(r *circuitsv1.Record) bool {
		given = r.GetLife().GetChange() == c.Change
		r.GetLife().Change = ""
		return given
	})
	if given && err == nil {
		p.metrics.changes.WithLabelValues("again").Inc()
		p.deps.Log.WarnContext(ctx, "another change set is requested", "circuit", c.ID, "because", why)
	}
	return err
}
