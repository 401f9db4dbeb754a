package kernel

import (
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/services/routeragent/bpf"
)

func (c *classifier) markHits(rules []Rule) {
	if len(c.hits) > 0 {
		return
	}
	for _, r := range rules {
		c.hits[r.Hit] = true
	}
}

// clearNewHits starts counters at zero for rules that were not there before.
func (c *classifier) clearNewHits(rules []Rule) {
	zero := make([]bpf.ClassifierHit, ebpf.MustPossibleCPU())
	for _, r := range rules {
		if len(c.hits) > 0 && !c.hits[r.Hit] {
			_ = c.obj.Hits.Put(uint32(r.Hit), zero)
		}
	}
	for _, r := range rules {
		c.hits[r.Hit] = true
	}
}

// Hits reads the counters of rules by slot.
func (k *Kernel) Hits(slots []int) (map[int]Hit, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[int]Hit{}
	if k.bpf.obj == nil {
		return out, nil
	}
	for _, s := range slots {
		var per []bpf.ClassifierHit
		if err := k.bpf.obj.Hits.Lookup(uint32(s), &per); err != nil {
			return nil, fmt.Errorf("read rule counter: %w", err)
		}
		var sum Hit
		for _, h := range per {
			sum.Packets += h.Packets
			sum.Octets += h.Octets
		}
		out[s] = sum
	}
	return out, nil
}
