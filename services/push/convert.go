package push

import (
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/diff"
)

func changesToProto(in []diff.Change) []*pushv1.UnitChange {
	out := make([]*pushv1.UnitChange, len(in))
	for i, c := range in {
		out[i] = &pushv1.UnitChange{Path: c.Path, Before: c.Before, After: c.After}
	}
	return out
}

func changesFromProto(in []*pushv1.UnitChange) []diff.Change {
	out := make([]diff.Change, len(in))
	for i, c := range in {
		out[i] = diff.Change{Path: c.GetPath(), Before: c.GetBefore(), After: c.GetAfter()}
	}
	return out
}

func unitsOf(p *policyv1.RouterPlan) map[string]string {
	out := map[string]string{}
	for _, u := range p.GetUnits() {
		out[u.GetPath()] = u.GetJson()
	}
	return out
}
