package alpha

import (
	"errors"
	"fmt"
	"time"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	"github.com/millrace/millrace/services/alpha/detect"
)

// order is what a nightly run has to do, defaults filled in.
type order struct {
	rule     detect.Rule
	from, to time.Time
	dryRun   bool
	// regular: by the configured rule and up to now, so that what it judged need not be judged again.
	regular bool
	// skipped is the start of what no run has judged and this one does not reach; zero: nothing.
	skipped time.Time
}

// skew is how much the clocks of a client and this service may differ, and those of two replicas.
const skew = time.Minute

// newOrder fills in what the request leaves open. end is up to when runs have judged before; zero: none has. The
// start is moved back to the start of an interval, so that no interval is judged by its second half only.
func newOrder(cfg Configuration, m *alphav1.NightlyRequest, now, end time.Time) (order, error) {
	o := order{rule: cfg.Rule, to: now, dryRun: m.GetDryRun()}
	if err := o.override(m); err != nil {
		return o, err
	}
	o.regular = m.GetFrom() == nil && m.GetTo() == nil && m.MinBytes == nil && m.Interval == nil && m.Ipv4Length == nil
	switch {
	case m.GetFrom() != nil:
		o.from = m.GetFrom().AsTime()
	case m.GetTo() != nil:
		o.from = m.GetTo().AsTime().Add(-cfg.Window)
	default:
		o.from, o.skipped = start(cfg, now, end)
	}
	if m.GetTo() != nil {
		o.to = m.GetTo().AsTime()
	}
	if !o.from.Before(o.to) {
		return o, fmt.Errorf("the window ends (%s) before it starts (%s)", stamp(o.to), stamp(o.from))
	}
	if o.to.After(now.Add(skew)) {
		return o, fmt.Errorf("the window ends (%s) in the future, where every pair has aged out", stamp(o.to))
	}
	since := time.Duration(o.from.UnixNano()) % o.rule.Interval
	o.from = o.from.Add(-since)
	return o, nil
}

// override puts the request's rule in place of the configured one.
func (o *order) override(m *alphav1.NightlyRequest) error {
	if m.MinBytes != nil {
		o.rule.MinBytes = m.GetMinBytes()
	}
	if m.Interval != nil {
		o.rule.Interval = m.GetInterval().AsDuration()
	}
	if m.Ipv4Length != nil {
		lengths := map[uint32]int{24: 48, 32: 64} // of IPv6 that go with those of IPv4, as in rankings
		if lengths[m.GetIpv4Length()] == 0 {
			return errors.New("prefix length: use 24 or 32")
		}
		o.rule.IPv4Length, o.rule.IPv6Length = int(m.GetIpv4Length()), lengths[m.GetIpv4Length()]
	}
	return o.rule.Validate()
}

// start is where a regular run begins to read: where the last one that succeeded ended, less an overlap for records
// that came later; never less than a whole window, and never more than the largest. So no flow is left out on days of
// 25 hours, after runs that failed, or because its record came after the run. What is judged twice changes nothing.
func start(cfg Configuration, now, end time.Time) (from, skipped time.Time) {
	from = now.Add(-cfg.Window)
	if end.IsZero() || end.After(now) {
		return from, time.Time{}
	}
	if again := end.Add(-cfg.Overlap); again.Before(from) {
		from = again
	}
	if most := now.Add(-cfg.MaxWindow); from.Before(most) {
		from = most
	}
	if end.Before(from) {
		skipped = end
	}
	return from, skipped
}
