package kernel

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/internal/bpfmap"
	"github.com/millrace/millrace/services/routeragent/bpf"
)

// load puts a rule set into a free slot, unless a slot has it already. No packet sees it yet.
func (c *classifier) load(policy string, rules []Rule) error {
	sum := digest(rules)
	for slot, have := range c.sets {
		if have == sum {
			c.slots[policy] = slot
			return nil
		}
	}
	slot := c.freeSlot()
	if slot < 0 {
		return fmt.Errorf("policy %s: more than %d policies", policy, MaxPolicies)
	}
	return c.kernel.step("load rules of policy "+policy, func() error {
		if err := c.obj.put(slot, rules); err != nil {
			return err
		}
		c.slots[policy], c.sets[slot], c.next = slot, sum, slot+1
		return nil
	})
}

// put writes a rule set into a slot that no interface points at.
func (o *objects) put(slot int, rules []Rule) error {
	set, err := encode(rules)
	if err != nil {
		return err
	}
	if err := o.putPairs(slot, set); err != nil {
		return err
	}
	return bpfmap.Put(o.Policies, uint32(slot), &set.policy)
}

func (o *objects) putPairs(slot int, set *ruleset) error {
	if len(set.keys) > 0 {
		m, err := hash(bpf.ClassifierMapTePairs, set.keys, set.rules)
		if err != nil {
			return err
		}
		defer m.Close() // the slot keeps it
		if err := bpfmap.Put(o.Pairs, uint32(slot), m); err != nil {
			return err
		}
	}
	if len(set.keys6) > 0 {
		m, err := hash(bpf.ClassifierMapTePairs6, set.keys6, set.rules6)
		if err != nil {
			return err
		}
		defer m.Close()
		return bpfmap.Put(o.Pairs6, uint32(slot), m)
	}
	return nil
}

func (c *classifier) freeSlot() int {
	for i := range slotCount {
		if slot := (c.next + i) % slotCount; c.sets[slot] == [32]byte{} {
			return slot
		}
	}
	return -1
}

// slotCount is MAX_POLICIES of bpf/maps.h.
const slotCount = 2 * MaxPolicies

// pruneSets frees the slots whose rule set is not in the spec.
func (c *classifier) pruneSets(s Spec) error {
	used := map[int]bool{}
	for policy, slot := range c.slots {
		if _, ok := s.Policies[policy]; ok {
			used[slot] = true
		} else {
			delete(c.slots, policy)
		}
	}
	for slot := range c.sets {
		if used[slot] {
			continue
		}
		for _, m := range []*ebpf.Map{c.obj.Pairs, c.obj.Pairs6} {
			if err := m.Delete(uint32(slot)); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
				return fmt.Errorf("unload rules: %w", err)
			}
		}
		// Deleting from a map of maps waits until no packet is in the programs that could still look here.
		if err := bpfmap.Put(c.obj.Policies, uint32(slot), &bpf.ClassifierPolicy{}); err != nil {
			return fmt.Errorf("unload rules: %w", err)
		}
		delete(c.sets, slot)
	}
	return nil
}
