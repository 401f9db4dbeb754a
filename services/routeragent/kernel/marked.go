package kernel

import (
	"fmt"
	"maps"
	"slices"

	"github.com/vishvananda/netlink"
)

// What is ours is found by its mark on every interface, and never by the record of what was replaced: that may be lost,
// and has no filter on a clsact of another program. The record only says how to put back what was there before.

// eachWith visits the interfaces with a qdisc such as is looked for.
func (k *Kernel) eachWith(such func(tcObject) bool, visit func(l netlink.Link) error) error {
	all, err := k.conn.allQdiscs()
	if err != nil {
		return err
	}
	for _, index := range slices.Sorted(maps.Keys(all)) {
		if !slices.ContainsFunc(all[index], such) {
			continue
		}
		l, err := k.conn.LinkByIndex(index)
		if noLink(err) {
			continue // it has just gone, and its qdiscs with it
		}
		if err != nil {
			return fmt.Errorf("interface %d: %w", index, err)
		}
		if err := visit(l); err != nil {
			return err
		}
	}
	return nil
}

// scheduled lists the interfaces with a scheduler of ours, and those of which the record says so.
func (k *Kernel) scheduled() ([]string, error) {
	names := map[string]bool{}
	for name := range k.owned.Roots {
		names[name] = true
	}
	ours := func(q tcObject) bool { return q.Parent == root && q.generation() >= 0 }
	err := k.eachWith(ours, func(l netlink.Link) error {
		names[l.Attrs().Name] = true
		return nil
	})
	return slices.Sorted(maps.Keys(names)), err
}

// classified lists the interfaces with a filter of ours, and those of which the record says that clsact is ours.
func (c *classifier) classified() ([]string, error) {
	names := maps.Clone(c.kernel.owned.Clsact)
	err := c.eachFilter(func(name, _ string, _ *netlink.BpfFilter) { names[name] = true })
	return slices.Sorted(maps.Keys(names)), err
}

// eachFilter visits our filters, interface by interface.
func (c *classifier) eachFilter(visit func(name, direction string, f *netlink.BpfFilter)) error {
	clsact := func(q tcObject) bool { return q.Kind == "clsact" }
	return c.kernel.eachWith(clsact, func(l netlink.Link) error {
		for direction, parent := range directions {
			f, err := c.filter(l, parent)
			if err != nil {
				return fmt.Errorf("list filters of %s: %w", l.Attrs().Name, err)
			}
			if f != nil {
				visit(l.Attrs().Name, direction, f)
			}
		}
		return nil
	})
}

// verifyNothingElse finds what is ours and not in the spec.
func (k *Kernel) verifyNothingElse(s Spec) error {
	scheduled, err := k.scheduled()
	if err != nil {
		return err
	}
	for _, name := range scheduled {
		if _, is := s.Ports[name]; !is {
			return fmt.Errorf("interface %s should not have our scheduler", name)
		}
	}
	classified, err := k.bpf.classified()
	if err != nil {
		return err
	}
	keep := wanted(s)
	for _, name := range classified {
		if !slices.Contains(keep, name) {
			return fmt.Errorf("interface %s should not have our classifier", name)
		}
	}
	return nil
}
