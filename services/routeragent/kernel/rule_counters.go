package kernel

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/internal/bpfmap"
	"github.com/millrace/millrace/services/routeragent/bpf"
)

// countersOf are the counters of a spec by index: of rules, of circuits and of sets of paths.
func countersOf(s Spec) map[int]bool {
	out := map[int]bool{}
	for _, rules := range s.Policies {
		for _, r := range rules {
			out[r.Counter] = true
		}
	}
	for _, c := range s.Circuits {
		out[c.Entered], out[c.Left] = true, true
	}
	for _, members := range s.Sets {
		for _, m := range members {
			out[m.Counter] = true
		}
	}
	return out
}

// clearNew sets counters to zero with which nothing counts yet: they may have been another object's.
func (c *classifier) clearNew(wanted map[int]bool) error {
	zero := make([]bpf.ClassifierHit, ebpf.MustPossibleCPU())
	for i := range wanted {
		if c.counters[i] {
			continue
		}
		if err := bpfmap.Put(c.obj.Hits, uint32(i), zero); err != nil {
			return fmt.Errorf("clear counter %d: %w", i, err)
		}
		c.counters[i] = true
	}
	return nil
}

// recallCounters reads after a restart with which counters rules, circuits and sets of paths count.
func (c *classifier) recallCounters() error {
	for slot := range c.sets {
		if err := c.recallRules(uint32(slot)); err != nil {
			return fmt.Errorf("list rules that count: %w", err)
		}
	}
	enters, leaves, err := c.circuitsInMaps()
	if err != nil {
		return fmt.Errorf("list circuits that count: %w", err)
	}
	for _, circuit := range enters {
		c.counters[int(circuit.Hit)] = true
	}
	for _, exit := range leaves {
		c.counters[int(exit.Hit)] = true
	}
	sets, err := bpfmap.All[uint32, bpf.ClassifierPathSet](c.obj.Sets)
	if err != nil {
		return fmt.Errorf("list sets of paths that count: %w", err)
	}
	for _, set := range sets {
		for _, b := range set.Bucket {
			c.counters[int(b.Hit)] = true
		}
	}
	return nil
}

func (c *classifier) recallRules(slot uint32) error {
	var policy bpf.ClassifierPolicy
	if err := c.obj.Policies.Lookup(slot, &policy); err != nil {
		return err
	}
	for _, term := range policy.Term[:policy.Terms] {
		c.counters[int(term.Rule.Hit)] = true
	}
	return errors.Join(recallPairs[bpf.ClassifierKey](c, c.obj.Pairs, slot), recallPairs[bpf.ClassifierKey6](c, c.obj.Pairs6, slot))
}

func recallPairs[K comparable](c *classifier, slots *ebpf.Map, slot uint32) error {
	var pairs *ebpf.Map
	if err := slots.Lookup(slot, &pairs); errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer pairs.Close()
	rules, err := bpfmap.All[K, bpf.ClassifierRule](pairs)
	for _, r := range rules {
		c.counters[int(r.Hit)] = true
	}
	return err
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
