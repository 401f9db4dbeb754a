package push

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/configentry"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/guard"
	"github.com/millrace/millrace/services/push/rollout"
)

// overBudget returns by how much a change set of the nightly run exceeds the nightly budget.
func (c *Component) overBudget(ctx context.Context, cs *pushv1.ChangeSet, size guard.Size) ([]string, error) {
	if !cs.GetNightly() || c.cfg.NightlyBudget == (Budget{}) {
		return nil, nil
	}
	spent, err := c.spent(ctx, cs)
	if err != nil {
		return nil, err
	}
	return c.cfg.NightlyBudget.limit().Over(spent, size), nil
}

// spent is what the other change sets since noon (local time) that were approved change, whatever became of them.
func (c *Component) spent(ctx context.Context, cs *pushv1.ChangeSet) (sum guard.Size, err error) {
	all, err := c.readable(ctx)
	if err != nil {
		return sum, err
	}
	from, to := guard.BudgetPeriod(cs.GetCreated().AsTime().In(time.Local))
	for _, other := range all {
		if at := other.GetCreated().AsTime(); !other.GetNightly() || other.GetId() == cs.GetId() || at.Before(from) || !at.Before(to) || !wasApproved(other) {
			continue
		}
		sum = sum.Plus(sizeFromProto(other.GetSize()))
	}
	return sum, nil
}

func wasApproved(m *pushv1.ChangeSet) bool {
	for _, t := range m.GetHistory() {
		if states[t.GetState()] == rollout.Approved {
			return true
		}
	}
	return false
}

func sizeToProto(s guard.Size) *pushv1.Size {
	return &pushv1.Size{Entries: uint32(s.Entries), Routers: uint32(s.Routers), Lsps: uint32(s.LSPs)}
}

func sizeFromProto(m *pushv1.Size) guard.Size {
	return guard.Size{Entries: int(m.GetEntries()), Routers: int(m.GetRouters()), LSPs: int(m.GetLsps())}
}

// sizeOf counts what changes on routers. Where one entry is all of a router's configuration,
// all LSPs of its plan count.
func sizeOf(devices []*pushv1.DeviceChange) guard.Size {
	s := guard.Size{Routers: len(devices)}
	for _, d := range devices {
		s.Entries += len(d.GetEntries())
		for _, e := range d.GetEntries() {
			switch kind, _, _, ok := configentry.Of(e.GetPath()); {
			case configentry.EncodingFromProto(e.GetEncoding()).Whole():
				s.LSPs += len(d.GetPlan().GetLsps())
			case ok && kind == configentry.Tunnel:
				s.LSPs++
			}
		}
	}
	return s
}
