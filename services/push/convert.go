package push

import (
	"github.com/millrace/millrace/internal/configentry"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/diff"
)

func changesToProto(in []diff.Change) []*pushv1.EntryChange {
	out := make([]*pushv1.EntryChange, len(in))
	for i, c := range in {
		out[i] = &pushv1.EntryChange{Path: c.Path, Encoding: c.Encoding.ToProto(), Before: c.Before, After: c.After}
	}
	return out
}

func changesFromProto(in []*pushv1.EntryChange) []diff.Change {
	out := make([]diff.Change, len(in))
	for i, c := range in {
		out[i] = diff.Change{Path: c.GetPath(), Encoding: configentry.EncodingFromProto(c.GetEncoding()), Before: c.GetBefore(), After: c.GetAfter()}
	}
	return out
}

// entriesOf is the intended config of a plan.
func entriesOf(p *policyv1.RouterPlan) map[string]string {
	out := map[string]string{}
	for _, e := range p.GetEntries() {
		out[e.GetPath()] = e.GetBody()
	}
	return out
}
