package kernel

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/services/routeragent/bpf"
)

// objects are the parts of bpf/classifier.c that are ours to hold.
type objects struct {
	Ingress  *ebpf.Program `ebpf:"te_ingress"`
	Egress   *ebpf.Program `ebpf:"te_egress"`
	Policies *ebpf.Map     `ebpf:"te_policies"`
	Ports    *ebpf.Map     `ebpf:"te_ports"`
	Hits     *ebpf.Map     `ebpf:"te_hits"`
}

// classifier is the pair of programs on every interface of the spec. Nothing
// is pinned: the tc filters hold the programs, the programs hold the maps, so
// traffic does not care whether the agent lives, and a new agent finds the maps
// again through any of its filters.
type classifier struct {
	kernel *Kernel
	obj    *objects
	// loaded digests the rules in each policy slot, to leave an unchanged set alone.
	loaded map[int][32]byte
	slots  map[string]int
	hits   map[int]bool
}

func (c *classifier) close() {
	if c.obj == nil {
		return
	}
	for _, x := range []interface{ Close() error }{c.obj.Ingress, c.obj.Egress, c.obj.Policies, c.obj.Ports, c.obj.Hits} {
		x.Close()
	}
	c.obj, c.loaded, c.slots, c.hits = nil, nil, nil, nil
}

// wanted lists the interfaces the programs must be on.
func wanted(s Spec) []string {
	names := map[string]bool{}
	for n := range s.Bindings {
		names[n] = true
	}
	for n := range s.Ports {
		names[n] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// ensure loads the rule sets, then points the interfaces at them.
func (c *classifier) ensure(s Spec) error {
	names := wanted(s)
	if len(names) == 0 {
		return nil
	}
	if err := c.open(); err != nil {
		return err
	}
	c.recallSlots(s)
	for _, policy := range slices.Sorted(maps.Keys(s.Policies)) {
		if err := c.load(policy, s.Policies[policy]); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := c.attach(name); err != nil {
			return err
		}
		if err := c.point(name, s); err != nil {
			return err
		}
	}
	return nil
}

// open finds the maps of a running classifier or loads a new one.
func (c *classifier) open() error {
	if c.obj != nil {
		return nil
	}
	if err := c.adopt(); err != nil {
		return err
	}
	if c.obj != nil {
		return nil
	}
	return c.kernel.step("load classifier", func() error {
		spec, err := bpf.LoadClassifier()
		if err != nil {
			return fmt.Errorf("read classifier: %w", err)
		}
		obj := &objects{}
		if err := spec.LoadAndAssign(obj, nil); err != nil {
			return err
		}
		c.obj, c.loaded, c.slots, c.hits = obj, map[int][32]byte{}, map[string]int{}, map[int]bool{}
		return nil
	})
}

// adopt opens the classifier of an earlier agent through one of its filters.
func (c *classifier) adopt() error {
	ids := map[string]int{}
	for name := range c.kernel.owned.Clsact {
		l, err := c.kernel.link(name)
		if err != nil {
			continue
		}
		for dir, parent := range directions {
			if f, err := c.filter(l, parent); err == nil && f != nil {
				ids[dir] = f.Id
			}
		}
	}
	if len(ids) != len(directions) {
		return nil
	}
	obj, err := fromIDs(ids)
	if err != nil {
		return fmt.Errorf("adopt running classifier: %w", err)
	}
	c.obj, c.loaded, c.slots, c.hits = obj, map[int][32]byte{}, map[string]int{}, map[int]bool{}
	c.kernel.log.Info("running classifier taken over")
	return nil
}

// recallSlots learns after a restart which slot holds which policy, from the interfaces that point there.
func (c *classifier) recallSlots(s Spec) {
	if len(c.slots) > 0 {
		return
	}
	for name, policy := range s.Bindings {
		var e bpf.ClassifierPort
		l, err := c.kernel.link(name)
		if err != nil || c.obj.Ports.Lookup(uint32(l.Attrs().Index), &e) != nil || e.Policy == 0 {
			continue
		}
		c.slots[policy] = int(e.Policy - 1)
	}
}

func fromIDs(ids map[string]int) (*objects, error) {
	obj := &objects{}
	var err error
	if obj.Ingress, err = ebpf.NewProgramFromID(ebpf.ProgramID(ids["ingress"])); err != nil {
		return nil, err
	}
	if obj.Egress, err = ebpf.NewProgramFromID(ebpf.ProgramID(ids["egress"])); err != nil {
		return nil, err
	}
	info, err := obj.Ingress.Info()
	if err != nil {
		return nil, err
	}
	mapIDs, _ := info.MapIDs()
	for _, id := range mapIDs {
		m, err := ebpf.NewMapFromID(id)
		if err != nil {
			return nil, err
		}
		mi, err := m.Info()
		if err != nil {
			return nil, err
		}
		switch mi.Name {
		case bpf.ClassifierMapTePolicies:
			obj.Policies = m
		case bpf.ClassifierMapTePorts:
			obj.Ports = m
		case bpf.ClassifierMapTeHits:
			obj.Hits = m
		default:
			m.Close()
		}
	}
	if obj.Policies == nil || obj.Ports == nil || obj.Hits == nil {
		return nil, errors.New("its maps are not all there")
	}
	return obj, nil
}

// load puts a rule set into its slot with one write, unless it is there already.
func (c *classifier) load(policy string, rules []Rule) error {
	slot, ok := c.slots[policy]
	if !ok {
		if slot = c.freeSlot(); slot < 0 {
			return fmt.Errorf("policy %s: more than %d policies", policy, maxPolicies)
		}
	}
	sum := digest(rules)
	if ok && c.loaded[slot] == sum {
		return nil
	}
	return c.kernel.step("load rules of policy "+policy, func() error {
		c.clearNewHits(rules)
		inner, err := ruleset(rules)
		if err != nil {
			return err
		}
		defer inner.Close() // the slot keeps it
		if err := c.obj.Policies.Put(uint32(slot), inner); err != nil {
			return err
		}
		c.slots[policy], c.loaded[slot] = slot, sum
		return nil
	})
}

func (c *classifier) freeSlot() int {
	used := map[int]bool{}
	for _, s := range c.slots {
		used[s] = true
	}
	for s := range maxPolicies {
		if !used[s] {
			return s
		}
	}
	return -1
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

// point tells the programs which rules and which scheduler an interface has.
func (c *classifier) point(name string, s Spec) error {
	want, index, err := c.portEntry(name, s)
	if err != nil {
		return err
	}
	var have bpf.ClassifierPort
	if err := c.obj.Ports.Lookup(index, &have); err == nil && have == want {
		return nil
	}
	return c.kernel.step("point classifier of "+name, func() error { return c.obj.Ports.Put(index, want) })
}

func (c *classifier) portEntry(name string, s Spec) (bpf.ClassifierPort, uint32, error) {
	h, err := c.kernel.held(name)
	if err != nil {
		return bpf.ClassifierPort{}, 0, err
	}
	var e bpf.ClassifierPort
	if _, ok := s.Ports[name]; ok && h.generation >= 0 {
		e.Handle = uint32(handleBase+h.generation) << 16
	}
	if policy, ok := s.Bindings[name]; ok {
		e.Policy = uint32(c.slots[policy] + 1)
	}
	return e, uint32(h.index), nil
}

// prune takes the programs off interfaces that need them no more, and the rule sets nobody uses.
func (c *classifier) prune(s Spec) error {
	keep := wanted(s)
	if c.obj == nil {
		if err := c.adopt(); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.kernel.owned.Clsact)) {
		if slices.Contains(keep, name) {
			continue
		}
		if err := c.kernel.step("detach classifier from "+name, func() error { return c.detach(name) }); err != nil {
			return err
		}
	}
	if len(keep) == 0 {
		c.close()
		return nil
	}
	for policy, slot := range c.slots {
		if _, ok := s.Policies[policy]; ok {
			continue
		}
		if err := c.obj.Policies.Delete(uint32(slot)); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("unload rules of policy %s: %w", policy, err)
		}
		delete(c.slots, policy)
		delete(c.loaded, slot)
	}
	return nil
}

func (c *classifier) verify(s Spec) error {
	for _, name := range wanted(s) {
		l, err := c.kernel.link(name)
		if err != nil {
			return err
		}
		for dir, parent := range directions {
			if f, err := c.filter(l, parent); err != nil || f == nil {
				return fmt.Errorf("classifier is not on %s %s (%v)", name, dir, err)
			}
		}
		want, index, err := c.portEntry(name, s)
		if err != nil {
			return err
		}
		var have bpf.ClassifierPort
		if err := c.obj.Ports.Lookup(index, &have); err != nil || have != want {
			return fmt.Errorf("classifier of %s does not point at its rules", name)
		}
	}
	return nil
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
