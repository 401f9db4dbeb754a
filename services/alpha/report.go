package alpha

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"github.com/millrace/millrace/internal/events"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/units"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/alpha/detect"
)

// report is the response to a nightly run.
func (c *Component) report(o order, f finding) *alphav1.NightlyResponse {
	r, refused := f.result, f.refused
	if o.regular && !o.dryRun { // who looks at a day of last week raises no alert
		c.metrics.refusedUntil(o.to, len(refused))
	}
	out := &alphav1.NightlyResponse{
		Added: pairsToProto(o.rule, r.Added), Refreshed: pairsToProto(o.rule, r.Refreshed), AgedOut: pairsToProto(o.rule, r.AgedOut),
		Warnings: c.strangers(r), InCircuits: f.within,
	}
	for _, exporter := range slices.SortedFunc(maps.Keys(refused), netip.Addr.Compare) {
		out.Refused = append(out.Refused, &alphav1.Refusal{Exporter: exporterText(exporter), Reason: refused[exporter]})
	}
	return out
}

// strangers warns of pairs whose exporter belongs to no device: no rule can be made for them.
func (c *Component) strangers(r detect.Result) []string {
	var out []string
	seen := map[netip.Addr]bool{}
	for _, p := range slices.Concat(r.Added, r.Refreshed) {
		exporter := p.Key.Exporter
		if _, known := c.deps.Inventory.ByExporter(exporter); known || seen[exporter] {
			continue
		}
		seen[exporter] = true
		out = append(out, fmt.Sprintf("exporter %s belongs to no device of the inventory, so its pairs cannot be redirected; add the address to a device's exporters", exporter))
	}
	return out
}

// publish publishes an event for each result of the run.
func (c *Component) publish(ctx context.Context, o order, out *alphav1.NightlyResponse, attention []string) {
	for _, p := range out.GetAdded() {
		c.events.Publish(ctx, events.PairFound, p.GetId(), fmt.Sprintf("%s to %s is alpha: %s.", p.GetSrc(), p.GetDst(), strongest(p.GetEvidence())))
	}
	for _, p := range out.GetAgedOut() {
		c.events.Publish(ctx, events.PairAgedOut, p.GetId(), fmt.Sprintf("%s to %s is forgotten: no flow of it for %s.", p.GetSrc(), p.GetDst(), span(o.rule.AgeAfter)))
	}
	for _, in := range out.GetInCircuits() {
		p := in.GetPair()
		c.events.Publish(ctx, events.PairInCircuit, p.GetId(), fmt.Sprintf("%s to %s %s, within circuit %s.", p.GetSrc(), p.GetDst(), strongest(p.GetEvidence()), in.GetCircuit()))
	}
	for _, r := range out.GetRefused() {
		c.events.Publish(ctx, events.ExporterRefused, r.GetExporter(), fmt.Sprintf("Pairs of exporter %s stay as they are: %s.", r.GetExporter(), r.GetReason()))
	}
	for _, w := range out.GetWarnings() {
		c.events.Publish(ctx, events.ExporterUnknown, "nightly", w+".")
	}
	text := fmt.Sprintf("Flows from %s to %s: %d pairs added, %d refreshed, %d aged out.",
		stamp(o.from), stamp(o.to), len(out.GetAdded()), len(out.GetRefreshed()), len(out.GetAgedOut()))
	if n := len(out.GetInCircuits()); n > 0 {
		text += fmt.Sprintf(" Within circuits: %d.", n)
	}
	for _, w := range attention {
		text += " Attention: " + w + "."
	}
	c.events.Publish(ctx, events.NightlyDone, "nightly", text)
}

// attention is what an operator should look at beside the pairs.
func (c *Component) attention(o order, f finding) []string {
	out := c.unjudged(o)
	if f.away != "" {
		out = append(out, f.away)
	}
	if f.untagged != "" {
		out = append(out, f.untagged)
	}
	return out
}

// unjudged warns of flows that no run has looked at, nor will.
func (c *Component) unjudged(o order) []string {
	if o.skipped.IsZero() {
		return nil
	}
	return []string{fmt.Sprintf("no run has judged the flows from %s to %s, because earlier runs failed and one reads at most %s (alpha.max_window); `millrace alpha nightly --from T --to T` does it",
		stamp(o.skipped), stamp(o.from), span(c.cfg.MaxWindow))}
}

// request is the change set to create; nil if no router's rules can differ.
func (c *Component) request(o order, r detect.Result) *pushv1.CreateRequest {
	changed := slices.Concat(r.Added, r.AgedOut)
	if len(changed) == 0 {
		return nil
	}
	req := &pushv1.CreateRequest{
		Title:  fmt.Sprintf("alpha pairs: %d added, %d removed", len(r.Added), len(r.AgedOut)),
		Author: "alpha nightly", Policy: c.cfg.Policy, Reason: reason(o, r), Nightly: true,
	}
	for _, p := range changed {
		req.Pairs = append(req.Pairs, p.Key.ID())
	}
	slices.Sort(req.Pairs)
	req.IdempotencyKey = idempotencyKey(req.Pairs, stamp(o.from), stamp(o.to))
	return req
}

// reasonPairs is how many pairs a reason spells out.
const reasonPairs = 5

func reason(o order, r detect.Result) string {
	text := fmt.Sprintf("Flows from %s to %s.", stamp(o.from), stamp(o.to))
	for _, p := range r.Added[:min(reasonPairs, len(r.Added))] {
		m := pairToProto(o.rule, p)
		text += fmt.Sprintf(" %s to %s %s.", m.GetSrc(), m.GetDst(), strongest(m.GetEvidence()))
	}
	if more := len(r.Added) - reasonPairs; more > 0 {
		text += fmt.Sprintf(" So did %d more.", more)
	}
	if n := len(r.AgedOut); n > 0 {
		text += fmt.Sprintf(" Pairs without any flow for %s: %d.", span(o.rule.AgeAfter), n)
	}
	return text
}

// strongest describes the evidence with the most bytes.
func strongest(list []*alphav1.Evidence) string {
	if len(list) == 0 {
		return "sent more than the threshold"
	}
	e := largest(list)
	return fmt.Sprintf("sent %s in the %s after %s (threshold %s)", approx(e.GetBytes()),
		span(e.GetInterval().AsDuration()), stamp(e.GetIntervalStart().AsTime()), units.Size(e.GetMinBytes()))
}

func largest(list []*alphav1.Evidence) *alphav1.Evidence {
	return slices.MaxFunc(list, func(a, b *alphav1.Evidence) int { return cmp.Compare(a.GetBytes(), b.GetBytes()) })
}

// approx keeps three digits of a byte count, which is all that people compare.
func approx(n uint64) units.Size {
	scale := uint64(1)
	for n/scale >= 1000 {
		scale *= 10
	}
	return units.Size((n + scale/2) / scale * scale)
}

func exporterText(a netip.Addr) string {
	if a == everyone {
		return "all"
	}
	return a.String()
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// span writes whole days as days.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day && d%day == 0:
		return fmt.Sprintf("%d days", d/day)
	case d%time.Second == 0 && d <= 2*time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return d.String()
}

// idempotencyKey is equal exactly for the same pairs found in the same window.
func idempotencyKey(pairs []string, window ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(append(slices.Clone(pairs), window...), "\n")))
	return "alpha-" + hex.EncodeToString(sum[:16])
}
