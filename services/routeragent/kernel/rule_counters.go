package kernel

import (
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/internal/bpfmap"
	"github.com/millrace/millrace/services/routeragent/bpf"
)

func (c *classifier) markCounters(rules []Rule) {
	if len(c.counters) > 0 {
		return
	}
	for _, r := range rules {
		c.counters[r.Counter] = true
	}
}

// clearNewCounters sets the counters of new rules to zero.
func (c *classifier) clearNewCounters(rules []Rule) {
	zero := make([]bpf.ClassifierHit, ebpf.MustPossibleCPU())
	for _, r := range rules {
		if len(c.counters) > 0 && !c.counters[r.Counter] {
			_ = bpfmap.Put(c.obj.Hits, uint32(r.Counter), zero)
		}
	}
	for _, r := range rules {
		c.counters[r.Counter] = true
	}
}

// RuleCounters reads the counters of rules by their index.
func (k *Kernel) RuleCounters(indexes []int) (map[int]Counters, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[int]Counters{}
	if k.bpf.obj == nil {
		return out, nil
	}
	for _, s := range indexes {
		var per []bpf.ClassifierHit
		if err := k.bpf.obj.Hits.Lookup(uint32(s), &per); err != nil {
			return nil, fmt.Errorf("read rule counter: %w", err)
		}
		var sum Counters
		for _, h := range per {
			sum.Packets += h.Packets
			sum.Octets += h.Octets
		}
		out[s] = sum
	}
	return out, nil
}
