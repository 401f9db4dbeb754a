package kernel

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/internal/bpfmap"
	"github.com/millrace/millrace/services/routeragent/bpf"
)

// MaxBurst is the largest bucket: above it, 1e-9 bits would not fit 64 bits.
const MaxBurst = 1<<31 - 1

// unitsPerOctet is TE_UNITS_PER_OCTET of bpf/police.h: buckets count in 1e-9 bit.
const unitsPerOctet = 8_000_000_000

func bucket(rate uint64, burst uint32) bpf.ClassifierBucket {
	if rate == 0 {
		return bpf.ClassifierBucket{}
	}
	size := uint64(burst) * unitsPerOctet
	fill, rest := bits.Div64(0, size, rate)
	if rest > 0 {
		fill++
	}
	return bpf.ClassifierBucket{Rate: rate, Size: size, Fill: fill}
}

func action(a Action) bpf.ClassifierAction {
	out := bpf.ClassifierAction{Dscp: uint32(a.Remark), Class: uint32(a.Class), Loss: uint32(a.Loss)}
	if a.Drop {
		out.Drop = 1
	}
	return out
}

// entry is a policer as the eBPF program has it.
func (p Policer) entry(meter uint32) bpf.ClassifierPolicer {
	return bpf.ClassifierPolicer{
		Committed: bucket(p.Rate, p.Burst), Peak: bucket(p.PeakRate, p.PeakBurst),
		Exceed: action(p.Exceed), Violate: action(p.Violate), Meter: meter,
	}
}

// policers lists the policers in the maps, by interface and class.
func (c *classifier) policers() (map[bpf.ClassifierPoliceKey]bpf.ClassifierPolicer, error) {
	out, err := bpfmap.All[bpf.ClassifierPoliceKey, bpf.ClassifierPolicer](c.obj.Policers)
	if err != nil {
		return nil, fmt.Errorf("read policers: %w", err)
	}
	return out, nil
}

// ensurePolicers writes the policers of an interface. A policer that
// changes keeps its counters and the tokens in its buckets.
func (c *classifier) ensurePolicers(name string, list []Policer) error {
	if len(list) == 0 {
		return nil
	}
	l, err := c.kernel.link(name)
	if err != nil {
		return err
	}
	have, err := c.policers()
	if err != nil {
		return err
	}
	for _, p := range list {
		k := bpf.ClassifierPoliceKey{Ifindex: uint32(l.Attrs().Index), Class: uint32(p.Class)}
		if err := c.ensurePolicer(fmt.Sprintf("police class %d of %s", p.Class, name), k, p, have); err != nil {
			return err
		}
	}
	return nil
}

// ensureRulePolicers writes the policers that rules name.
func (c *classifier) ensureRulePolicers(list map[int]Policer) error {
	if len(list) == 0 {
		return nil
	}
	have, err := c.policers()
	if err != nil {
		return err
	}
	for _, n := range slices.Sorted(maps.Keys(list)) {
		if err := c.ensurePolicer(fmt.Sprintf("police rules %d", n), ruleKey(n), list[n], have); err != nil {
			return err
		}
	}
	return nil
}

// ruleKey is the key of a policer that rules name: no interface has the index 0.
func ruleKey(n int) bpf.ClassifierPoliceKey { return bpf.ClassifierPoliceKey{Class: uint32(n)} }

// ensurePolicer writes one policer, unless have, which it keeps up to date, has it already.
func (c *classifier) ensurePolicer(step string, k bpf.ClassifierPoliceKey, p Policer, have map[bpf.ClassifierPoliceKey]bpf.ClassifierPolicer) error {
	old, known := have[k]
	meter := old.Meter
	if !known {
		var err error
		if meter, err = freeMeter(have); err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
	}
	want := p.entry(meter)
	if known && old == want {
		return nil
	}
	err := c.kernel.step(step, func() error {
		if !known {
			if err := bpfmap.Put(c.obj.Meters, meter, bpf.ClassifierMeter{}); err != nil {
				return err
			}
		}
		return bpfmap.Put(c.obj.Policers, k, want)
	})
	if err == nil {
		have[k] = want
	}
	return err
}

func freeMeter(have map[bpf.ClassifierPoliceKey]bpf.ClassifierPolicer) (uint32, error) {
	used := make([]bool, 2*MaxPolicers)
	for _, p := range have {
		used[p.Meter] = true
	}
	if m := slices.Index(used, false); m >= 0 {
		return uint32(m), nil
	}
	return 0, fmt.Errorf("more than %d policers", MaxPolicers)
}

// prunePolicers removes the policers that are not in the spec.
func (c *classifier) prunePolicers(s Spec) error {
	have, err := c.policers()
	if err != nil {
		return err
	}
	for name, list := range s.Policers {
		l, err := c.kernel.link(name)
		if err != nil {
			return err
		}
		for _, p := range list {
			delete(have, bpf.ClassifierPoliceKey{Ifindex: uint32(l.Attrs().Index), Class: uint32(p.Class)})
		}
	}
	for n := range s.RulePolicers {
		delete(have, ruleKey(n))
	}
	for k := range have {
		err := c.kernel.step(fmt.Sprintf("stop policing class %d of interface %d", k.Class, k.Ifindex), func() error { return c.obj.Policers.Delete(k) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *classifier) verifyPolicers(name string, list []Policer) error {
	if len(list) == 0 {
		return nil
	}
	l, err := c.kernel.link(name)
	if err != nil {
		return err
	}
	for _, p := range list {
		k := bpf.ClassifierPoliceKey{Ifindex: uint32(l.Attrs().Index), Class: uint32(p.Class)}
		if err := c.verifyPolicer(k, p); err != nil {
			return fmt.Errorf("policer of class %d on %s %w", p.Class, name, err)
		}
	}
	return nil
}

func (c *classifier) verifyRulePolicers(list map[int]Policer) error {
	for n, p := range list {
		if err := c.verifyPolicer(ruleKey(n), p); err != nil {
			return fmt.Errorf("policer %d of rules %w", n, err)
		}
	}
	return nil
}

func (c *classifier) verifyPolicer(k bpf.ClassifierPoliceKey, p Policer) error {
	var have bpf.ClassifierPolicer
	if err := c.obj.Policers.Lookup(k, &have); err != nil || have != p.entry(have.Meter) {
		return fmt.Errorf("differs from the intended one (%v)", err)
	}
	return nil
}

// forget removes the map entries of an interface.
func (c *classifier) forget(index uint32) {
	_ = c.obj.Ports.Delete(index)
	for class := range uint32(MaxClass + 1) {
		_ = c.obj.Policers.Delete(bpf.ClassifierPoliceKey{Ifindex: index, Class: class})
	}
}

// PolicerCounters reads the policers of an interface by class; a class without a policer is absent, and so are all of
// an interface that is gone.
func (k *Kernel) PolicerCounters(name string) (map[int]PolicerCounters, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[int]PolicerCounters{}
	if k.bpf.obj == nil {
		return out, nil
	}
	l, err := k.link(name)
	if noLink(err) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for class := range MaxClass + 1 {
		c, ok, err := k.bpf.meter(bpf.ClassifierPoliceKey{Ifindex: uint32(l.Attrs().Index), Class: uint32(class)})
		if err != nil {
			return nil, err
		}
		if ok {
			out[class] = c
		}
	}
	return out, nil
}

// RulePolicerCounters reads policers that rules name by their numbers; one that is not there is absent.
func (k *Kernel) RulePolicerCounters(numbers []int) (map[int]PolicerCounters, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[int]PolicerCounters{}
	if k.bpf.obj == nil {
		return out, nil
	}
	for _, n := range numbers {
		c, ok, err := k.bpf.meter(ruleKey(n))
		if err != nil {
			return nil, err
		}
		if ok {
			out[n] = c
		}
	}
	return out, nil
}

// meter reads what a policer counted.
func (c *classifier) meter(k bpf.ClassifierPoliceKey) (out PolicerCounters, ok bool, err error) {
	var p bpf.ClassifierPolicer
	err = c.obj.Policers.Lookup(k, &p)
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return out, false, nil
	}
	var m bpf.ClassifierMeter
	if err == nil {
		// Under the lock, so that packets and octets are read at one time.
		err = c.obj.Meters.LookupWithFlags(p.Meter, &m, ebpf.LookupLock)
	}
	if err != nil {
		return out, false, fmt.Errorf("read policer counters: %w", err)
	}
	return PolicerCounters{Conforming: Counters{m.Packets[0], m.Octets[0]}, Exceeding: Counters{m.Packets[1], m.Octets[1]}, Violating: Counters{m.Packets[2], m.Octets[2]}}, true, nil
}
