package qos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/scenario"
)

// Push is one policy put in force.
type Push struct {
	Phase  string `json:"phase"`
	Policy string `json:"policy"`
	// Entries changed, and how long the change set took from its creation to the last confirmation.
	Entries int      `json:"entries"`
	Seconds float64  `json:"seconds"`
	Checks  []string `json:"checks"`
}

// author signs the lab's change sets.
const author = "lab"

// enforce brings every router to what the policy gives it, by one change set.
func (r *run) enforce(ctx context.Context, phase string, use *scenario.PolicyUse) error {
	began := time.Now()
	r.plane.intended = r.plans[use]
	done, err := r.plane.apply(ctx, use.Use, "phase "+phase)
	if err != nil {
		return fmt.Errorf("policy %s: %w", use.Use, err)
	}
	p := Push{Phase: phase, Policy: use.Use, Seconds: time.Since(began).Seconds()}
	for _, d := range done.GetDevices() {
		p.Entries += len(d.GetEntries())
		for _, check := range d.GetChecks() {
			p.Checks = append(p.Checks, d.GetDevice()+": "+strings.TrimPrefix(check, "ok: "))
		}
	}
	r.say(fmt.Sprintf("  policy %s is in force: %d entries changed in %.1f s", use.Use, p.Entries, p.Seconds))
	r.metrics[phase+"/policy/seconds"], r.metrics[phase+"/policy/entries"] = p.Seconds, float64(p.Entries)
	r.result.Pushes = append(r.result.Pushes, p)
	return nil
}

// apply takes a change set from its creation to its end: verified, or empty where the routers have it all.
func (p *plane) apply(ctx context.Context, policy, reason string) (*pushv1.ChangeSet, error) {
	created, err := p.changes.Create(ctx, connect.NewRequest(&pushv1.CreateRequest{Policy: policy, Author: author, Reason: reason}))
	if err != nil {
		return nil, fmt.Errorf("create change set: %w", err)
	}
	cs := created.Msg.GetChange()
	if cs.GetState() == pushv1.State_STATE_PLANNED {
		if _, err := p.changes.Approve(ctx, connect.NewRequest(&pushv1.ApproveRequest{Id: cs.GetId(), By: author, Apply: true})); err != nil {
			return nil, fmt.Errorf("approve change set: %w", err)
		}
	}
	for {
		switch cs.GetState() {
		case pushv1.State_STATE_VERIFIED, pushv1.State_STATE_EMPTY:
			return cs, nil
		case pushv1.State_STATE_FAILED, pushv1.State_STATE_ROLLED_BACK:
			return nil, errors.New(why(cs))
		}
		if err := sleep(ctx, poll, nil); err != nil {
			return nil, err
		}
		now, err := p.changes.Get(ctx, connect.NewRequest(&pushv1.GetRequest{Id: cs.GetId()}))
		if err != nil {
			return nil, fmt.Errorf("read change set: %w", err)
		}
		cs = now.Msg.GetChange()
	}
}

// why is the last line of a change set's history, and what each router said.
func why(cs *pushv1.ChangeSet) string {
	text := []string{cs.GetHistory()[len(cs.GetHistory())-1].GetNote()}
	for _, d := range cs.GetDevices() {
		if d.GetError() != "" {
			text = append(text, d.GetDevice()+": "+d.GetError())
		}
	}
	return strings.Join(text, "; ")
}
