package kernel

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"

	"github.com/millrace/millrace/internal/bpfmap"
	"github.com/millrace/millrace/services/routeragent/bpf"
)

// objects are the programs and maps of bpf/classifier.c that the agent keeps open.
type objects struct {
	Ingress  *ebpf.Program `ebpf:"te_ingress"`
	Egress   *ebpf.Program `ebpf:"te_egress"`
	Policies *ebpf.Map     `ebpf:"te_policies"`
	Pairs    *ebpf.Map     `ebpf:"te_pairs"`
	Pairs6   *ebpf.Map     `ebpf:"te_pairs6"`
	Ports    *ebpf.Map     `ebpf:"te_ports"`
	Hits     *ebpf.Map     `ebpf:"te_hits"`
	Policers *ebpf.Map     `ebpf:"te_policers"`
	Meters   *ebpf.Map     `ebpf:"te_meters"`
	Circuits *ebpf.Map     `ebpf:"te_circuits"`
	Exits    *ebpf.Map     `ebpf:"te_exits"`
	Sets     *ebpf.Map     `ebpf:"te_sets"`
}

// maps lists them by their names in the kernel.
func (o *objects) maps() map[string]**ebpf.Map {
	return map[string]**ebpf.Map{
		bpf.ClassifierMapTePolicies: &o.Policies, bpf.ClassifierMapTePairs: &o.Pairs, bpf.ClassifierMapTePairs6: &o.Pairs6,
		bpf.ClassifierMapTePorts: &o.Ports, bpf.ClassifierMapTeHits: &o.Hits,
		bpf.ClassifierMapTePolicers: &o.Policers, bpf.ClassifierMapTeMeters: &o.Meters,
		bpf.ClassifierMapTeCircuits: &o.Circuits, bpf.ClassifierMapTeExits: &o.Exits,
		bpf.ClassifierMapTeSets: &o.Sets,
	}
}

func (o *objects) close() {
	o.Ingress.Close()
	o.Egress.Close()
	for _, m := range o.maps() {
		(*m).Close()
	}
}

// classifier is the pair of programs on every interface of the spec. Nothing
// is pinned: the tc filters reference the programs, and the programs the maps. So
// packets are classified whether the agent runs or not, and a new agent finds the
// maps through any of the filters.
type classifier struct {
	kernel *Kernel
	obj    *objects
	// sets are the rule sets in the slots, by digest. A slot is never written while a port points at it.
	sets map[int][32]byte
	// next is where the search for a free slot begins, so that the slot freed last is used last.
	next  int
	slots map[string]int
	// counters are those with which rules, circuits and sets of paths in the programs count.
	counters map[int]bool
}

func (c *classifier) close() {
	if c.obj != nil {
		c.obj.close()
	}
	c.use(nil)
}

func (c *classifier) use(o *objects) {
	c.obj, c.sets, c.slots, c.counters = o, map[int][32]byte{}, map[string]int{}, map[int]bool{}
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
	for n := range s.Policers {
		names[n] = true
	}
	for _, c := range s.Circuits {
		names[c.Port], names[Overlay] = true, true
	}
	return slices.Sorted(maps.Keys(names))
}

// ensure loads rule sets and policers, points the interfaces at them, and attaches the programs last.
func (c *classifier) ensure(s Spec) error {
	names := wanted(s)
	if len(names) == 0 {
		return nil
	}
	if err := c.open(); err != nil {
		return err
	}
	if err := c.clearNew(countersOf(s)); err != nil {
		return err
	}
	if err := c.ensureRulePolicers(s.RulePolicers); err != nil {
		return err
	}
	for _, policy := range slices.Sorted(maps.Keys(s.Policies)) {
		if err := c.load(policy, s.Policies[policy]); err != nil {
			return err
		}
	}
	if err := c.ensureSets(s.Sets); err != nil {
		return err
	}
	if err := c.ensureCircuits(s); err != nil {
		return err
	}
	if err := c.forgetGone(); err != nil {
		return err
	}
	for _, name := range names {
		if err := c.ensurePolicers(name, s.Policers[name]); err != nil {
			return err
		}
		if err := c.point(name, s); err != nil {
			return err
		}
		if err := c.attach(name); err != nil {
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
		c.use(obj)
		return nil
	})
}

// adopt opens the classifier of an earlier agent through its filters, if it is of the same build.
func (c *classifier) adopt() error {
	ids, found := map[string]int{}, map[string]map[string]int{}
	err := c.eachFilter(func(name, direction string, f *netlink.BpfFilter) {
		if f.Name != filterName() {
			return
		}
		if found[name] == nil {
			found[name] = map[string]int{}
		}
		if found[name][direction] = f.Id; len(found[name]) == len(directions) {
			ids = found[name] // of one interface: others may have programs with other maps
		}
	})
	if err != nil {
		return fmt.Errorf("find running classifier: %w", err)
	}
	if len(ids) != len(directions) {
		return nil
	}
	obj, err := fromIDs(ids)
	if err != nil {
		return fmt.Errorf("adopt running classifier: %w", err)
	}
	c.use(obj)
	c.kernel.log.Info("running classifier taken over")
	return c.recall()
}

// recall reads after a restart which slots are in use, which rule sets are in them, and which counters count.
func (c *classifier) recall() error {
	var index uint32
	var port bpf.ClassifierPort
	var policy bpf.ClassifierPolicy
	for it := c.obj.Ports.Iterate(); it.Next(&index, &port); {
		if port.Policy == 0 {
			continue
		}
		if err := c.obj.Policies.Lookup(port.Policy-1, &policy); err != nil {
			return fmt.Errorf("read running classifier: %w", err)
		}
		c.sets[int(port.Policy-1)] = policy.Digest
	}
	return c.recallCounters()
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
	want := obj.maps()
	for _, id := range mapIDs {
		m, err := ebpf.NewMapFromID(id)
		if err != nil {
			return nil, err
		}
		mi, err := m.Info()
		if err != nil {
			return nil, err
		}
		if field, ours := want[mi.Name]; ours {
			*field = m
		} else {
			m.Close()
		}
	}
	for name, m := range want {
		if *m == nil {
			return nil, fmt.Errorf("its map %s is not there", name)
		}
	}
	return obj, nil
}

// point writes which rules, policers and scheduler an interface has. From here on packets see the change.
func (c *classifier) point(name string, s Spec) error {
	want, index, err := c.portEntry(name, s)
	if err != nil {
		return err
	}
	var have bpf.ClassifierPort
	if err := c.obj.Ports.Lookup(index, &have); err == nil && have == want {
		return nil
	}
	return c.kernel.step("point classifier of "+name, func() error { return bpfmap.Put(c.obj.Ports, index, want) })
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
		slot, loaded := c.slots[policy]
		if !loaded {
			return e, 0, fmt.Errorf("interface %s: there is no policy %q", name, policy)
		}
		e.Policy = uint32(slot + 1)
	}
	if len(s.Policers[name]) > 0 {
		e.Police, e.Unruled = 1, uint32(s.Unruled)
	}
	e.Circuits = s.attached(name)
	return e, uint32(h.index), nil
}

// prune detaches the programs from interfaces that no longer need them, and frees the rule sets that are not in use.
func (c *classifier) prune(s Spec) error {
	keep := wanted(s)
	if c.obj == nil {
		if err := c.adopt(); err != nil {
			return err
		}
	}
	names, err := c.classified()
	if err != nil {
		return err
	}
	for _, name := range names {
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
	if c.obj == nil {
		return nil // nothing was loaded yet
	}
	if err := c.prunePolicers(s); err != nil {
		return err
	}
	if err := c.pruneCircuits(s); err != nil {
		return err
	}
	if err := c.pruneSetsOfPaths(s.Sets); err != nil {
		return err
	}
	if err := c.pruneSets(s); err != nil {
		return err
	}
	c.counters = countersOf(s)
	return nil
}

func (c *classifier) verify(s Spec) error {
	names := wanted(s)
	if len(names) > 0 && c.obj == nil {
		return errors.New("classifier is not loaded")
	}
	if err := c.verifyRulePolicers(s.RulePolicers); len(names) > 0 && err != nil {
		return err
	}
	for _, name := range names {
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
		if err := c.verifyPolicers(name, s.Policers[name]); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		return nil
	}
	if err := c.verifySets(s.Sets); err != nil {
		return err
	}
	return c.verifyCircuits(s)
}
