package controlplane

import (
	"context"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// AwaitState waits until a change set is in a state, and fails where it will not come there.
func (p *Plane) AwaitState(ctx context.Context, id string, want pushv1.State) (c *pushv1.ChangeSet, err error) {
	err = p.Until(ctx, 2*time.Minute, fmt.Sprintf("change set %s is %s", id, want), func(ctx context.Context) (bool, error) {
		got, err := p.Changes.Get(ctx, connect.NewRequest(&pushv1.GetRequest{Id: id}))
		if err != nil {
			return false, err
		}
		c = got.Msg.GetChange()
		switch s := c.GetState(); s {
		case want:
			return true, nil
		case pushv1.State_STATE_FAILED, pushv1.State_STATE_ROLLED_BACK:
			return false, fmt.Errorf("it is %s: %s", s, reasons(c))
		default:
			return false, nil
		}
	})
	return c, err
}

// reasons are the last note of a change set, and what its routers said.
func reasons(c *pushv1.ChangeSet) string {
	said := []string{c.GetHistory()[len(c.GetHistory())-1].GetNote()}
	for _, d := range c.GetDevices() {
		if d.GetError() != "" {
			said = append(said, d.GetDevice()+": "+d.GetError())
		}
	}
	return strings.Join(said, "; ")
}

// AppliedAt is when the last router had it; zero: none had.
func AppliedAt(c *pushv1.ChangeSet) (last time.Time) {
	for _, d := range c.GetDevices() {
		if t := d.GetApplied(); t != nil && t.AsTime().After(last) {
			last = t.AsTime()
		}
	}
	return last
}

// ReachedAt is when it came to a state last; zero: never.
func ReachedAt(c *pushv1.ChangeSet, state pushv1.State) (at time.Time) {
	for _, h := range c.GetHistory() {
		if h.GetState() == state {
			at = h.GetTime().AsTime()
		}
	}
	return at
}
