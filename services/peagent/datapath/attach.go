package datapath

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

const (
	filterName = "millrace-pe"
	// The router agent's classifier has priority 1 and sees received packets of core ports first.
	filterPriority = 2
)

// Ports are the interfaces of the thread's network namespace.
type Ports struct {
	*rtnetlink
	index map[string]int
}

// OpenPorts lists the interfaces once: a PE may have thousands.
func OpenPorts() (*Ports, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list ports: %w", err)
	}
	r, err := openRtnetlink()
	if err != nil {
		return nil, err
	}
	p := &Ports{rtnetlink: r, index: make(map[string]int, len(all))}
	for _, i := range all {
		p.index[i.Name] = i.Index
	}
	return p, nil
}

// Close closes the rtnetlink socket.
func (p *Ports) Close() { p.close() }

// Index returns the interface index of a port. One that the list lacks is asked for by its name: a list may lack one
// while others come and go.
func (p *Ports) Index(name string) (int, error) {
	if i, ok := p.index[name]; ok {
		return i, nil
	}
	l, err := netlink.LinkByName(name)
	if _, none := errors.AsType[netlink.LinkNotFoundError](err); none {
		err = unix.ENODEV
	}
	if err != nil {
		return 0, fmt.Errorf("find port %s: %w", name, err)
	}
	p.index[name] = l.Attrs().Index
	return l.Attrs().Index, nil
}

// Names returns the ports with these interface indices; those that no longer exist have none.
func (p *Ports) Names(indices []int) (names []string) {
	for name, i := range p.index {
		if slices.Contains(indices, i) {
			names = append(names, name)
		}
	}
	return names
}

func (p *Ports) indices(names []string) (out []int, err error) {
	for _, name := range names {
		i, e := p.Index(name)
		out, err = append(out, i), errors.Join(err, e)
	}
	return out, err
}

// Attach attaches the programs to ports towards the core and towards customers, or returns the first error.
func (d *Datapath) Attach(p *Ports, core, customers []string) error {
	if _, err := p.indices(slices.Concat(core, customers)); err != nil {
		return err
	}
	for _, err := range d.AttachEach(p, core, customers) {
		if err != nil {
			return err
		}
	}
	return nil
}

// AttachEach attaches the programs, and returns an error or nil for each port. Core ports come first, because their
// programs handle management packets. An attached program of an earlier agent is replaced without losing a packet.
func (d *Datapath) AttachEach(p *Ports, core, customers []string) []error {
	names := slices.Concat(core, customers)
	indices, errs := make([]int, len(names)), make([]error, len(names))
	var there []int // places in names
	for k, name := range names {
		if indices[k], errs[k] = p.Index(name); errs[k] == nil {
			there = append(there, k)
		}
	}
	// All clsact qdiscs before all programs: one port after the other would make the kernel wait for an RCU grace
	// period between its qdisc and its first program.
	for _, k := range there {
		// On an existing clsact this is a change without effect; for another kind (ingress) the kernel returns an
		// error.
		p.add(unix.RTM_NEWQDISC, unix.NLM_F_CREATE, clsact(indices[k])...)
	}
	for i, err := range p.flush() {
		if k := there[i]; err != nil {
			errs[k] = fmt.Errorf("port %s: add clsact (remove the existing ingress qdisc first: tc qdisc del dev PORT ingress): %w", names[k], err)
		}
	}
	there = slices.DeleteFunc(there, func(k int) bool { return errs[k] != nil })
	for _, k := range there {
		in, out := d.CustomerIn, d.CustomerOut
		if k < len(core) {
			in, out = d.CoreIn, d.CoreOut
		}
		p.program(indices[k], netlink.HANDLE_MIN_INGRESS, in)
		p.program(indices[k], netlink.HANDLE_MIN_EGRESS, out)
	}
	for i, err := range p.flush() {
		if k := there[i/2]; err != nil {
			errs[k] = fmt.Errorf("attach to %s: %w", names[k], err)
		}
	}
	return errs
}

// Lacking returns those interfaces that lack a program, or, towards the core, the scheduler of a mode.
func (p *Ports) Lacking(core, customers []int, m Mode) map[int]bool {
	var asked []int
	ask := func(what, index int, data ...nl.NetlinkRequestData) {
		p.add(what, 0, data...)
		asked = append(asked, index)
	}
	for _, i := range core {
		if m != Police {
			ask(unix.RTM_GETQDISC, i, traffic(i, m.Handle(), 0, 0))
		}
	}
	for _, i := range slices.Concat(core, customers) {
		ask(unix.RTM_GETTFILTER, i, filter(i, netlink.HANDLE_MIN_INGRESS)...)
		ask(unix.RTM_GETTFILTER, i, filter(i, netlink.HANDLE_MIN_EGRESS)...)
	}
	lacking := map[int]bool{}
	for k, err := range p.flush() {
		// No such interface, no clsact or no filter at all, and no such filter or qdisc. Other errors say nothing.
		if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
			lacking[asked[k]] = true
		}
	}
	return lacking
}

// program attaches a program to a hook and replaces an older one.
func (p *Ports) program(index int, parent uint32, program *ebpf.Program) {
	options := nl.NewRtAttr(nl.TCA_OPTIONS, nil)
	options.AddRtAttr(nl.TCA_BPF_FD, nl.Uint32Attr(uint32(program.FD())))
	options.AddRtAttr(nl.TCA_BPF_NAME, nl.ZeroTerminated(filterName))
	options.AddRtAttr(nl.TCA_BPF_FLAGS, nl.Uint32Attr(nl.TCA_BPF_FLAG_ACT_DIRECT))
	p.add(unix.RTM_NEWTFILTER, unix.NLM_F_CREATE, append(filter(index, parent), options)...)
}

// Detach removes the programs from ports, and clsact where it has no other filters. Ports that no longer exist are
// skipped.
func (p *Ports) Detach(names []string) error {
	var there []int
	var errs []error
	for _, name := range names {
		if i, ok := p.index[name]; ok {
			there = append(there, i)
		}
	}
	var alone []int
	for _, i := range there {
		ours, others, err := hooks(i)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, parent := range ours {
			p.add(unix.RTM_DELTFILTER, 0, filter(i, parent)...)
		}
		if !others {
			alone = append(alone, i)
		}
	}
	errs = append(errs, p.flush()...)
	for _, i := range alone {
		p.add(unix.RTM_DELQDISC, 0, clsact(i)...)
	}
	for _, err := range p.flush() {
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// hooks lists the hooks of a port that have a program of ours, and reports whether any has other filters.
func hooks(index int) (ours []uint32, others bool, err error) {
	l := &netlink.GenericLink{LinkAttrs: netlink.LinkAttrs{Index: index}}
	for _, parent := range []uint32{netlink.HANDLE_MIN_INGRESS, netlink.HANDLE_MIN_EGRESS} {
		list, err := netlink.FilterList(l, parent)
		if err != nil {
			return nil, false, fmt.Errorf("list filters of port %d: %w", index, err)
		}
		for _, f := range list {
			if b, ok := f.(*netlink.BpfFilter); ok && b.Name == filterName {
				ours = append(ours, parent)
			} else {
				others = true
			}
		}
	}
	return ours, others, nil
}
