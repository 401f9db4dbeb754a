package kernel

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"net/netip"
	"slices"
	"sort"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

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

// ruleset builds the hash map of a policy: all rules, and the pairs of prefix lengths they use.
func ruleset(rules []Rule) (*ebpf.Map, error) {
	spec, err := bpf.LoadClassifier()
	if err != nil {
		return nil, err
	}
	ms := spec.Maps[bpf.ClassifierMapTeRuleset]
	keys, values := encodeRules(rules)
	ms.MaxEntries = uint32(max(len(keys), 1))
	m, err := ebpf.NewMap(ms)
	if err != nil {
		return nil, fmt.Errorf("make rule map: %w", err)
	}
	if len(keys) == 0 {
		return m, nil
	}
	if _, err := m.BatchUpdate(keys, values, nil); err != nil {
		m.Close()
		return nil, fmt.Errorf("fill rule map: %w", err)
	}
	return m, nil
}

const (
	lengthsKey    = 255
	pairsPerBlock = 8
	// MaxLengthPairs is how many pairs of prefix lengths a policy may use.
	MaxLengthPairs = 32
)

// encodeRules turns rules into map entries; of two rules with the same prefixes the lower sequence stands.
func encodeRules(rules []Rule) ([]bpf.ClassifierKey, []bpf.ClassifierRule) {
	entries := map[bpf.ClassifierKey]bpf.ClassifierRule{}
	lengths := map[[2]uint8]bool{}
	for _, r := range rules {
		k := bpf.ClassifierKey{Src: be32(r.Src.Addr()), Dst: be32(r.Dst.Addr()), SrcLen: uint8(r.Src.Bits()), DstLen: uint8(r.Dst.Bits())}
		lengths[[2]uint8{k.SrcLen, k.DstLen}] = true
		if old, ok := entries[k]; ok && old.Sequence <= r.Sequence {
			continue
		}
		entries[k] = bpf.ClassifierRule{Mark: r.Mark, Sequence: r.Sequence, Hit: uint32(r.Hit)}
	}
	addLengths(entries, lengths)
	var keys []bpf.ClassifierKey
	var values []bpf.ClassifierRule
	for k, v := range entries {
		keys, values = append(keys, k), append(values, v)
	}
	return keys, values
}

func addLengths(entries map[bpf.ClassifierKey]bpf.ClassifierRule, lengths map[[2]uint8]bool) {
	var flat []byte
	for l := range lengths {
		flat = append(flat, l[0], l[1])
	}
	for len(flat)%(2*pairsPerBlock) != 0 {
		flat = append(flat, lengthsKey, lengthsKey)
	}
	for b := 0; b < len(flat)/(2*pairsPerBlock); b++ {
		k := bpf.ClassifierKey{Src: bits.ReverseBytes32(uint32(b)), SrcLen: lengthsKey, DstLen: lengthsKey}
		v := flat[b*2*pairsPerBlock:]
		e := binary.NativeEndian
		entries[k] = bpf.ClassifierRule{Mark: e.Uint32(v), Sequence: e.Uint32(v[4:]), Hit: e.Uint32(v[8:]), Pad: e.Uint32(v[12:])}
	}
}

// be32 is an address as it lies in memory of the packet.
func be32(a netip.Addr) uint32 {
	b := a.As4()
	return binary.NativeEndian.Uint32(b[:])
}

func digest(rules []Rule) [32]byte {
	lines := make([]string, len(rules))
	for i, r := range rules {
		lines[i] = fmt.Sprintf("%d %s %s %x %d\n", r.Sequence, r.Src, r.Dst, r.Mark, r.Hit)
	}
	sort.Strings(lines)
	h := sha256.New()
	for _, l := range lines {
		h.Write([]byte(l))
	}
	return [32]byte(h.Sum(nil))
}

// directions are the hooks the programs hang on.
var directions = map[string]uint32{"ingress": netlink.HANDLE_MIN_INGRESS, "egress": netlink.HANDLE_MIN_EGRESS}

func (c *classifier) filter(l netlink.Link, parent uint32) (*netlink.BpfFilter, error) {
	list, err := c.kernel.conn.FilterList(l, parent)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		if b, ok := f.(*netlink.BpfFilter); ok && b.Name == filterName {
			return b, nil
		}
	}
	return nil, nil
}

// attach hangs both programs on an interface, making clsact where there is none.
func (c *classifier) attach(name string) error {
	l, err := c.kernel.link(name)
	if err != nil {
		return err
	}
	if err := c.ensureClsact(name, l); err != nil {
		return err
	}
	for _, dir := range []string{"egress", "ingress"} {
		prog := map[string]*ebpf.Program{"ingress": c.obj.Ingress, "egress": c.obj.Egress}[dir]
		if f, err := c.filter(l, directions[dir]); err != nil {
			return fmt.Errorf("list filters of %s: %w", name, err)
		} else if f != nil && isProgram(prog, f.Id) {
			continue
		}
		err := c.kernel.step("attach "+dir+" classifier to "+name, func() error {
			return c.kernel.conn.FilterReplace(&netlink.BpfFilter{
				FilterAttrs:  netlink.FilterAttrs{LinkIndex: l.Attrs().Index, Parent: directions[dir], Handle: 1, Protocol: unix.ETH_P_ALL, Priority: filterPriority},
				Fd:           prog.FD(),
				Name:         filterName,
				DirectAction: true,
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func isProgram(p *ebpf.Program, id int) bool {
	info, err := p.Info()
	if err != nil {
		return false
	}
	have, ok := info.ID()
	return ok && int(have) == id
}

func (c *classifier) ensureClsact(name string, l netlink.Link) error {
	qdiscs, err := c.kernel.conn.qdiscs(l.Attrs().Index)
	if err != nil {
		return err
	}
	for _, q := range qdiscs {
		switch q.Kind {
		case "clsact":
			return nil
		case "ingress":
			return fmt.Errorf("interface %s: %w: ingress qdisc; the classifier needs clsact", name, ErrConflict)
		}
	}
	return c.kernel.step("add clsact to "+name, func() error {
		c.kernel.owned.Clsact[name] = true
		if err := c.kernel.owned.save(); err != nil {
			return err
		}
		return c.kernel.conn.batch(newQdisc(l.Attrs().Index, clsactHdl, clsactID, "clsact", nil))
	})
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

func (c *classifier) detach(name string) error {
	l, err := c.kernel.link(name)
	if errors.As(err, &netlinkNotFound) {
		delete(c.kernel.owned.Clsact, name)
		return c.kernel.owned.save()
	}
	if err != nil {
		return err
	}
	others := 0
	for _, parent := range directions {
		list, err := c.kernel.conn.FilterList(l, parent)
		if err != nil {
			return err
		}
		for _, f := range list {
			if b, ok := f.(*netlink.BpfFilter); !ok || b.Name != filterName {
				others++
			} else if err := c.kernel.conn.FilterDel(f); err != nil {
				return err
			}
		}
	}
	if c.obj != nil {
		_ = c.obj.Ports.Delete(uint32(l.Attrs().Index))
	}
	if c.kernel.owned.Clsact[name] && others == 0 {
		if err := c.kernel.conn.batch(delQdisc(l.Attrs().Index, clsactHdl, clsactID)); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	delete(c.kernel.owned.Clsact, name)
	return c.kernel.owned.save()
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
