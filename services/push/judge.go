package push

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/millrace/millrace/internal/device"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/drift"
)

// judgement is what a reading of a router means.
type judgement struct {
	reading drift.Reading
	force   inForce
	// changes lead from the running to the intended config; diff is their text.
	changes []diff.Change
	diff    string
	digest  string
	// repair is the outcome of the repair that was requested.
	repair string
}

// sentence describes the drift of a router.
func (j judgement) sentence(router string) string {
	differ := "config entries differ"
	if len(j.changes) == 1 {
		differ = "config entry differs"
	}
	return fmt.Sprintf("running config of %s differs from what change set %s left, %d %s", router, j.force.change.GetId(), len(j.changes), differ)
}

// paths names the first entries that differ.
func (j judgement) paths() string {
	var out []string
	for i, c := range j.changes {
		if i == 3 {
			out = append(out, "…")
			break
		}
		out = append(out, c.Path)
	}
	return strings.Join(out, ", ")
}

// maxJudgements bounds how often a router is read while change sets go on around it.
const maxJudgements = 3

// judge reads a router. That it differs counts only if no change set began before it was read: the records are read
// again afterwards, and every change set is recorded before anything of it is sent.
func (c *Component) judge(ctx context.Context, d device.Device) (judgement, error) {
	list := func(ctx context.Context) ([]*pushv1.ChangeSet, error) { return c.list(ctx) }
	all, err := c.reader.records.read(ctx, c.cfg.Reconcile.Every/2, list)
	for range maxJudgements {
		if err != nil {
			break
		}
		var j judgement
		if j, err = c.compareWith(ctx, all, d); err != nil || j.reading != drift.Differs {
			return j, err
		}
		if all, err = c.reader.records.read(ctx, 0, list); err != nil {
			break
		}
		if steps, known := drift.Relevant(stepsOf(all, d.Name)); known == drift.Known && drift.Same(steps, j.force.steps) {
			return j, nil
		}
	}
	return judgement{reading: drift.Unjudged}, err
}

// compareWith compares what a router holds with what the change sets of these records left on it.
func (c *Component) compareWith(ctx context.Context, all []*pushv1.ChangeSet, d device.Device) (judgement, error) {
	j := judgement{reading: drift.Unjudged}
	var err error
	if j.force, err = c.inForceOn(ctx, all, d.Name); err != nil || j.force.known != drift.Known {
		return j, err
	}
	vendor, err := c.deps.Vendors.Of(d)
	if err != nil {
		return j, err
	}
	running, err := c.managed(ctx, d, j.force.entries)
	if err != nil {
		return j, err
	}
	j.changes, j.reading = diff.Of(vendor.Encoding, running, j.force.entries), drift.AsLeft
	if len(j.changes) > 0 {
		j.reading, j.diff = drift.Differs, diff.Text(j.changes)
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s", j.force.change.GetId(), j.diff))
		j.digest = hex.EncodeToString(sum[:])
	}
	return j, nil
}

// managed reads the managed part of a router's running config, of which about this much is expected.
func (c *Component) managed(ctx context.Context, d device.Device, expected map[string]string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.CallTimeout+allowanceOf(expected, c.cfg.CommitRate))
	defer cancel()
	r, err := c.deps.Vendors.Open(ctx, d)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s, err := r.Snapshot(ctx)
	return s.Entries, err
}
