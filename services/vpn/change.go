package vpn

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"github.com/millrace/millrace/internal/events"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/vpnshare"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// proposal is a change before it has a version.
type proposal struct {
	by, reason string
	policy     string
	criterion  vpnshare.Criterion
	weights    map[string]float64
	restored   uint64
	// digest is the hash of the present policy file, which this change is newer than.
	digest []byte
}

// change makes the next version from a proposal. propose gets the change in force, nil before the first. Nothing is
// stored if nothing would change, or in a dry run.
func (c *Component) change(ctx context.Context, dry bool, propose func(now *vpnv1.Change) (proposal, error)) (*vpnv1.Change, error) {
	c.changing.Lock()
	defer c.changing.Unlock()
	for {
		now, err := c.records.newest(ctx)
		if err != nil {
			return nil, err
		}
		w, err := propose(now)
		if err != nil {
			return nil, err
		}
		next := w.after(now)
		switch {
		case dry:
			return next, nil
		case now != nil && w.same(now):
			return now, nil
		}
		err = c.records.add(ctx, next)
		if errors.Is(err, state.ErrConflict) {
			continue
		}
		if err != nil && !c.written(ctx, next) {
			return nil, err
		}
		c.metrics.changes.Inc()
		number := next.GetVersion().GetNumber()
		c.events.Publish(ctx, events.VPNWeightsChanged, fmt.Sprintf("version %d", number),
			fmt.Sprintf("%s changed VPN weights (version %d): %s. Reason: %s.", next.GetBy(), number, differenceText(next.GetDiff()), next.GetReason()))
		c.adopt(next)
		return next, nil
	}
}

// written reports whether a change is in etcd although its answer did not come. Then it is in force, here and at other
// replicas, whatever the caller is answered.
func (c *Component) written(ctx context.Context, change *vpnv1.Change) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.Timeout) // that the caller's time was over may be why
	defer cancel()
	return c.records.has(ctx, change)
}

// same reports whether only author and reason would change.
func (w proposal) same(now *vpnv1.Change) bool {
	return w.policy == now.GetPolicy() && string(w.criterion) == now.GetCriterion() && maps.Equal(w.weights, weightsOf(now))
}

// unchanged proposes the change in force.
func unchanged(now *vpnv1.Change) proposal {
	return proposal{policy: now.GetPolicy(), criterion: vpnshare.Criterion(now.GetCriterion()), weights: weightsOf(now)}
}

func (w proposal) after(now *vpnv1.Change) *vpnv1.Change {
	next := &vpnv1.Change{
		Version: &vpnv1.Version{Number: now.GetVersion().GetNumber() + 1, Id: rand.Text()[:10]}, Time: timestamppb.Now(),
		By: w.by, Reason: w.reason, Policy: w.policy, Criterion: string(w.criterion), Restored: w.restored, Digest: w.digest,
		Diff: difference(weightsOf(now), w.weights),
	}
	for _, name := range slices.Sorted(maps.Keys(w.weights)) {
		next.Weights = append(next.Weights, &vpnv1.Weight{Vpn: name, Weight: w.weights[name]})
	}
	return next
}

func weightsOf(c *vpnv1.Change) map[string]float64 {
	out := map[string]float64{}
	for _, w := range c.GetWeights() {
		out[w.GetVpn()] = w.GetWeight()
	}
	return out
}

func difference(before, after map[string]float64) (out []*vpnv1.Difference) {
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before[name] != after[name] {
			out = append(out, &vpnv1.Difference{Vpn: name, Before: before[name], After: after[name]})
		}
	}
	return out
}

// differenceText is a sentence part with the first few differences.
func differenceText(diff []*vpnv1.Difference) string {
	const few = 6
	if len(diff) == 0 {
		return "no weight differs"
	}
	var parts []string
	for _, d := range diff[:min(len(diff), few)] {
		parts = append(parts, fmt.Sprintf("%s %s to %s", d.GetVpn(), weightText(d.GetBefore()), weightText(d.GetAfter())))
	}
	if len(diff) > few {
		parts = append(parts, fmt.Sprintf("and %d more", len(diff)-few))
	}
	return strings.Join(parts, ", ")
}

func weightText(w float64) string {
	if w == 0 {
		return "not named"
	}
	return fmt.Sprintf("%.4g", w)
}

// set changes some weights and keeps the rest.
func (c *Component) set(ctx context.Context, r *vpnv1.SetWeightsRequest) (*vpnv1.Change, error) {
	return c.change(ctx, r.GetDryRun(), func(now *vpnv1.Change) (proposal, error) {
		w := unchanged(now)
		w.by, w.reason, w.digest = r.GetBy(), r.GetReason(), c.policyDigest()
		if w.criterion == "" {
			w.criterion = vpnshare.Weighted
		}
		for _, x := range r.GetWeights() {
			w.weights[x.GetVpn()] = x.GetWeight()
		}
		return w, nil
	})
}

var errNoVersion = errors.New("no such version")

// restore rolls back to an earlier version's weights; 0 is the one before the newest.
func (c *Component) restore(ctx context.Context, r *vpnv1.RestoreRequest) (*vpnv1.Change, error) {
	return c.change(ctx, r.GetDryRun(), func(now *vpnv1.Change) (proposal, error) {
		version := r.GetVersion()
		if version == 0 && now.GetVersion().GetNumber() > 0 {
			version = now.GetVersion().GetNumber() - 1
		}
		all, err := c.records.list(ctx)
		if err != nil {
			return proposal{}, err
		}
		for _, old := range all {
			if old.GetVersion().GetNumber() == version {
				return proposal{
					by: r.GetBy(), reason: r.GetReason(), policy: old.GetPolicy(), criterion: vpnshare.Criterion(old.GetCriterion()),
					weights: weightsOf(old), restored: version, digest: c.digestOf(old),
				}, nil
			}
		}
		if version == 0 {
			return proposal{}, fmt.Errorf("%w: no earlier version was in force; change weights instead", errNoVersion)
		}
		return proposal{}, fmt.Errorf("%w: version %d is not kept; see `millrace vpn history`", errNoVersion, version)
	})
}
