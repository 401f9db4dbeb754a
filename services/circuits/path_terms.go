package circuits

import (
	"slices"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/paths/graph"
)

// lastGroup is the last administrative group.
const lastGroup = 63

// metricOf are those of the path engine, by what requests call them.
var metricOf = map[circuitsv1.Metric]graph.Metric{
	circuitsv1.Metric_METRIC_UNSPECIFIED: graph.IGP, circuitsv1.Metric_METRIC_IGP: graph.IGP, circuitsv1.Metric_METRIC_TE: graph.TE,
	circuitsv1.Metric_METRIC_DELAY: graph.Delay, circuitsv1.Metric_METRIC_HOPS: graph.Hops,
}

// checkPathTerms refuses what cannot be said of any path. What contradicts itself is refused by admit.
func checkPathTerms(t *circuitsv1.Terms) error {
	if _, known := metricOf[t.GetMetric()]; !known {
		return wrong("metric", "there is no %d", t.GetMetric())
	}
	if n := len(t.GetExcludeRiskGroups()); n > maxList {
		return wrong("exclude_risk_groups", "%d are more than %d", n, maxList)
	}
	for _, list := range []struct {
		field  string
		groups []int32
	}{{"include_any", t.GetIncludeAny()}, {"include_all", t.GetIncludeAll()}, {"exclude", t.GetExclude()}} {
		if len(list.groups) > lastGroup+1 {
			return wrong(list.field, "%d are more than there are groups", len(list.groups))
		}
		for _, n := range list.groups {
			if n < 0 || n > lastGroup {
				return wrong(list.field, "%d is none of 0 to %d", n, lastGroup)
			}
		}
	}
	return nil
}

// pathTermsOf is what terms want of a path.
func (b *book) pathTermsOf(t *circuitsv1.Terms) (admit.PathTerms, error) {
	w := admit.PathTerms{
		Metric: metricOf[t.GetMetric()], MaxHops: int(t.GetMaxHops()), MaxSIDs: int(t.GetMaxSids()), ExcludeRiskGroups: t.GetExcludeRiskGroups(),
		IncludeAny: admit.GroupBits(t.GetIncludeAny()), IncludeAll: admit.GroupBits(t.GetIncludeAll()), Exclude: admit.GroupBits(t.GetExclude()),
	}
	for _, name := range t.GetVia() {
		n, err := b.topo.Resolve(name)
		if err != nil {
			return w, wrong("via", "%s", err)
		}
		w.Via = append(w.Via, n.ID.String())
	}
	return w, nil
}

// viaIsThere refuses another path while a router that it has to pass is gone.
func (b *book) viaIsThere(t *circuitsv1.Terms) error {
	for _, name := range t.GetVia() {
		if _, err := b.topo.Resolve(name); err != nil {
			return refuse(string(admit.LooseHops), "via", "%s, which it is to pass, is not in the topology", name)
		}
	}
	return nil
}

// offerPathTerms puts what an offer keeps of the path of a request into terms.
func offerPathTerms(t *circuitsv1.Terms, offered, asked admit.PathTerms) {
	keep := func(groups []int32, bits uint64) []int32 {
		return slices.DeleteFunc(groups, func(n int32) bool { return bits>>n&1 == 0 })
	}
	t.IncludeAny, t.IncludeAll, t.Exclude = keep(t.GetIncludeAny(), offered.IncludeAny), keep(t.GetIncludeAll(), offered.IncludeAll), keep(t.GetExclude(), offered.Exclude)
	t.MaxHops, t.MaxSids = int32(offered.MaxHops), int32(offered.MaxSIDs)
	var via []string
	for i, id := range asked.Via {
		if slices.Contains(offered.Via, id) {
			via = append(via, t.GetVia()[i]) // by the name that it was requested by
		}
	}
	t.Via = via
}
