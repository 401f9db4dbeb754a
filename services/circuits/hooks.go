package circuits

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/state"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/webhook"
)

const (
	// hooksPrefix is where a target's position and lock are.
	hooksPrefix = "circuits/webhooks/"
	// hookLease is how long a target waits for another replica when the one that notifies it has died.
	hookLease = 10 * time.Second
	// hookPause is how long etcd, or another replica, is left alone.
	hookPause = 2 * time.Second
	// hookBatch is how many changes are looked up at once.
	hookBatch = 100
)

// hook is one target of one project.
type hook struct {
	project string
	key     string
	sender  *webhook.Sender
}

// hooks are all targets.
func (c Configuration) hooks(pace webhook.Pace) (out []hook, err error) {
	for project, p := range c.Projects {
		for _, t := range p.Webhooks {
			sender, err := webhook.New(t, pace)
			if err != nil {
				return nil, fmt.Errorf("circuits projects.%s.webhooks: %w", project, err)
			}
			out = append(out, hook{project: project, key: hooksPrefix + project + "/" + t.Key(), sender: sender})
		}
	}
	return out, nil
}

// follow notifies a target of changes until Stop, while no other replica does.
func (c *Component) follow(h hook) func(context.Context) {
	return func(ctx context.Context) {
		logged := ""
		for ctx.Err() == nil {
			err := c.tellHook(ctx, h)
			var held *state.HeldError
			if err != nil && !errors.As(err, &held) && ctx.Err() == nil && err.Error() != logged {
				logged = err.Error()
				c.deps.Log.WarnContext(ctx, "a webhook is begun again", "project", h.project, "error", err)
			}
			lifecycle.Pause(ctx, hookPause)
		}
	}
}

// tellHook sends a target the changes after its position, under a lock that is lost where this replica does not answer.
func (c *Component) tellHook(ctx context.Context, h hook) error {
	lock, err := c.deps.State.Lock(ctx, "services/circuits", hookLease, h.key+"/lock")
	if err != nil {
		return err
	}
	defer lock.Release()
	ctx, stop := lock.Context(ctx)
	defer stop()
	position, revision, err := c.hookPosition(ctx, h, lock)
	for err == nil && ctx.Err() == nil {
		changed, moved := c.ledger.Since(position, hookBatch, func(r *circuitsv1.Record) bool { return r.GetCircuit().GetTerms().GetProject() == h.project })
		if len(changed) == 0 {
			select {
			case <-moved:
			case <-ctx.Done():
			}
			continue
		}
		for i, one := range changed {
			if !c.deliver(ctx, h, one.Record) {
				return nil
			}
			if i+1 < len(changed) && changed[i+1].Revision == one.Revision {
				continue // of one transaction: after the first the second would be behind the position
			}
			position = one.Revision
			if revision, err = lock.Put(ctx, h.key+"/position", revision, wrapperspb.Int64(position)); err != nil {
				break
			}
		}
	}
	return err
}

// hookPosition is the revision of the last change that a target was notified of. A new target is notified of
// later changes.
func (c *Component) hookPosition(ctx context.Context, h hook, lock *state.Lock) (position, revision int64, err error) {
	at := &wrapperspb.Int64Value{}
	revision, err = c.deps.State.Get(ctx, h.key+"/position", at)
	switch {
	case errors.Is(err, state.ErrNotFound):
		revision, err = lock.Put(ctx, h.key+"/position", 0, wrapperspb.Int64(0))
		if err != nil {
			return 0, 0, err
		}
		position = revision
		revision, err = lock.Put(ctx, h.key+"/position", revision, wrapperspb.Int64(position))
		return position, revision, err
	case err != nil:
		return 0, 0, err
	case at.GetValue() > revision: // etcd was restored, and counts anew
		return 0, revision, nil
	}
	return at.GetValue(), revision, nil
}

// deliver is false where it was ended before the target was notified.
func (c *Component) deliver(ctx context.Context, h hook, r *circuitsv1.Record) bool {
	m, err := messageOf(r)
	if err != nil {
		c.deps.Log.ErrorContext(ctx, "a webhook could not be notified of a circuit", "circuit", r.GetCircuit().GetId(), "error", err)
		return true
	}
	ended, err := h.sender.Deliver(ctx, m, func(err error) {
		c.metrics.hooks.WithLabelValues("failed").Inc()
		c.deps.Log.WarnContext(ctx, "a webhook does not take a message; it is sent again", "project", h.project, "message", m.ID, "error", err)
	})
	switch {
	case !ended:
		return false
	case err != nil:
		c.metrics.hooks.WithLabelValues("given-up").Inc()
		c.deps.Log.ErrorContext(ctx, "a message to a webhook is given up", "project", h.project, "message", m.ID, "error", err)
	default:
		c.metrics.hooks.WithLabelValues("delivered").Inc()
	}
	return true
}

// messageOf says what a circuit is now; its history says what it was before.
func messageOf(r *circuitsv1.Record) (webhook.Message, error) {
	circuit := r.GetCircuit()
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(circuit)
	if err != nil {
		return webhook.Message{}, err
	}
	last := circuit.GetHistory()[len(circuit.GetHistory())-1]
	body, err := json.Marshal(map[string]any{
		"type":      "circuit." + strings.ToLower(string(ledger.NameOf(circuit.GetState()))),
		"timestamp": last.GetTime().AsTime().Format(time.RFC3339Nano),
		"data":      map[string]any{"circuit": json.RawMessage(raw)},
	})
	return webhook.Message{ID: fmt.Sprintf("%s.%d", circuit.GetId(), circuit.GetVersion()), Body: body}, err
}
