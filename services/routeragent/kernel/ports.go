package kernel

import (
	"bytes"
	"fmt"

	"github.com/vishvananda/netlink/nl"
)

// held is the scheduler that an interface has in the kernel.
type held struct {
	index           int
	root            tcObject // Kind "" where the kernel's default is in place
	generation      int      // of our tree; -1 if the root is not ours
	qdiscs, classes []tcObject
}

func (k *Kernel) held(name string) (held, error) {
	l, err := k.link(name)
	if err != nil {
		return held{}, err
	}
	h := held{index: l.Attrs().Index}
	if h.qdiscs, err = k.conn.qdiscs(h.index); err != nil {
		return h, err
	}
	if h.classes, err = k.conn.classes(h.index); err != nil {
		return h, err
	}
	for _, q := range h.qdiscs {
		if q.Parent == root && q.Handle != 0 {
			h.root = q
		}
	}
	h.generation = h.root.generation()
	return h, nil
}

// generation is that of our tree whose root this is; -1 if it is not ours.
func (o tcObject) generation() int {
	if g := int(o.Handle>>16) - handleBase; o.Kind == "htb" && (g == 0 || g == 1) {
		return g
	}
	return -1
}

// unmanaged refuses a root scheduler of another program that has children, because they could not be restored.
func (h held) unmanaged() error {
	if h.generation >= 0 {
		return nil
	}
	for _, q := range h.qdiscs {
		if q.Handle != 0 && q.Parent != root && q.Parent != clsactID {
			return fmt.Errorf("%w: %s qdisc %x: under root %s", ErrConflict, q.Kind, q.Handle>>16, h.root.Kind)
		}
	}
	if h.root.Kind != "tbf" && h.root.Handle != 0 && len(h.classes) > 0 {
		return fmt.Errorf("%w: classful root qdisc %s %x:", ErrConflict, h.root.Kind, h.root.Handle>>16)
	}
	return nil
}

func (k *Kernel) ensurePort(name string, port Port) error {
	h, err := k.held(name)
	if err != nil {
		return err
	}
	if err := h.unmanaged(); err != nil {
		return fmt.Errorf("interface %s: %w", name, err)
	}
	t := tree{index: h.index, generation: max(h.generation, 0), port: port}
	if h.generation >= 0 && t.equal(h.qdiscs, h.classes) {
		return nil
	}
	if h.generation >= 0 && sameShape(t, h) {
		return k.step("change scheduler of "+name, func() error { return k.changeInPlace(t, name) })
	}
	if h.generation < 0 {
		if err := k.capture(name, h.root); err != nil {
			return err
		}
	} else {
		// A tree is never rebuilt under its own handle: the kernel would refuse or merge.
		t.generation = 1 - h.generation
	}
	return k.step("put scheduler on "+name, func() error {
		if err := k.conn.batch(t.create()...); err != nil {
			return err
		}
		return k.verifyPort(name, port)
	})
}

// sameShape is true if the classes are the same and only their values
// differ: the kernel changes those without losing a packet.
func sameShape(t tree, h held) bool {
	if !bytes.Contains(h.root.Options, htbInit(classMinor + t.port.Default)[4+8:4+12]) {
		return false
	}
	want := map[uint32]bool{t.major() | 1: true}
	for _, q := range t.port.Queues {
		want[t.class(q.Class)] = true
	}
	for _, c := range h.classes {
		if c.Kind != "htb" {
			continue
		}
		if !want[c.Handle] {
			return false
		}
		delete(want, c.Handle)
	}
	return len(want) == 0
}

func (k *Kernel) changeInPlace(t tree, name string) error {
	reqs := []*nl.NetlinkRequest{newClass(t.index, t.major()|1, t.major(), htbClass(t.port.Speed, t.port.Speed, 0, rootQuantum))}
	for _, q := range t.port.Queues {
		reqs = append(reqs, t.leaf(q)...)
	}
	if err := k.conn.batch(reqs...); err != nil {
		return err
	}
	return k.verifyPort(name, t.port)
}

func (k *Kernel) capture(name string, r tcObject) error {
	return k.step("record root qdisc of "+name, func() error {
		k.owned.Roots[name] = r
		return k.owned.save()
	})
}

func (k *Kernel) verifyPort(name string, port Port) error {
	h, err := k.held(name)
	if err != nil {
		return err
	}
	if h.generation < 0 {
		return fmt.Errorf("interface %s has root qdisc %q, not our scheduler", name, h.root.Kind)
	}
	if t := (tree{index: h.index, generation: h.generation, port: port}); !t.equal(h.qdiscs, h.classes) {
		return fmt.Errorf("scheduler of interface %s differs from the intended one", name)
	}
	return nil
}

// prunePorts restores the root qdiscs that our schedulers replaced; the kernel's default where there is no record.
func (k *Kernel) prunePorts(keep map[string]Port) error {
	names, err := k.scheduled()
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, ok := keep[name]; ok {
			continue
		}
		if err := k.step("restore root qdisc of "+name, func() error { return k.restore(name) }); err != nil {
			return err
		}
	}
	return nil
}

func (k *Kernel) restore(name string) error {
	h, err := k.held(name)
	if noLink(err) {
		return k.forget(name) // the interface is gone, and its qdiscs with it
	}
	if err != nil {
		return err
	}
	if h.generation < 0 {
		return k.forget(name)
	}
	was := k.owned.Roots[name]
	if was.Handle == 0 {
		err = k.conn.batch(delQdisc(h.index, h.root.Handle, root))
	} else {
		err = k.conn.batch(newQdisc(h.index, was.Handle, root, was.Kind, was.Options))
	}
	if err != nil {
		return err
	}
	if h, err = k.held(name); err != nil {
		return err
	}
	if h.root.Kind != was.Kind || h.root.Handle != was.Handle || !bytes.Equal(h.root.Options, was.Options) {
		return fmt.Errorf("root qdisc is %s %x, was %s %x", h.root.Kind, h.root.Options, was.Kind, was.Options)
	}
	return k.forget(name)
}

func (k *Kernel) forget(name string) error {
	delete(k.owned.Roots, name)
	k.saveRemoval()
	return nil
}

// saveRemoval writes down that something of ours is gone. A full disk must not keep us from going back: an entry that
// stays in the file is found gone by the next prune, after a restart too.
func (k *Kernel) saveRemoval() {
	if err := k.owned.save(); err != nil {
		k.log.Warn("record of replaced qdiscs is behind", "error", err)
	}
}

// PortCounters reads the queues of one port by class number; nil if it is gone or has another scheduler.
func (k *Kernel) PortCounters(name string) (map[int]QueueCounters, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h, err := k.held(name)
	if noLink(err) {
		return nil, nil
	}
	if err != nil || h.generation < 0 {
		return nil, err
	}
	out := map[int]QueueCounters{}
	for _, c := range h.classes {
		if n := int(c.Handle&0xffff) - classMinor; n > 0 && c.Kind == "htb" {
			out[n] = c.stats
		}
	}
	return out, nil
}
