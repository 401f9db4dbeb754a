package datapath

import (
	"errors"
	"fmt"
	"net"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

const (
	filterName = "millrace-pe"
	// The router agent's classifier has priority 1 and looks first at what core ports receive.
	filterPriority = 2
)

// Ports are the interfaces of the thread's network namespace.
type Ports struct {
	*rtnetlink
	index map[string]int
}

// OpenPorts lists them once: a PE may have thousands.
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

// Close lets go of the kernel.
func (p *Ports) Close() { p.close() }

// Index is a port's number.
func (p *Ports) Index(name string) (int, error) {
	i, ok := p.index[name]
	if !ok {
		return 0, fmt.Errorf("find port %s: %w", name, unix.ENODEV)
	}
	return i, nil
}

func (p *Ports) indices(names []string) (out []int, err error) {
	for _, name := range names {
		i, e := p.Index(name)
		out, err = append(out, i), errors.Join(err, e)
	}
	return out, err
}

// Attach puts the programs on ports towards the core and towards customers; those
// of the core, which count arrivals of management packets, first. A program that
// is there already is replaced without a packet passing between the two.
func (d *Datapath) Attach(p *Ports, core, customers []string) error {
	names := append(append([]string(nil), core...), customers...)
	indices, err := p.indices(names)
	if err != nil {
		return err
	}
	// All hooks before all programs: a hook and its first program at once make the
	// kernel wait for all readers of the one before it touches the other.
	for _, i := range indices {
		// One that is there is "changed" to what it is; of a qdisc of another kind, ingress, the kernel says so.
		p.add(unix.RTM_NEWQDISC, unix.NLM_F_CREATE, clsact(i)...)
	}
	for i, err := range p.flush() {
		if err != nil {
			return fmt.Errorf("port %s: add clsact (an ingress qdisc of someone else's must go first): %w", names[i], err)
		}
	}
	for k, i := range indices {
		in, out := d.CustomerIn, d.CustomerOut
		if k < len(core) {
			in, out = d.CoreIn, d.CoreOut
		}
		p.program(i, netlink.HANDLE_MIN_INGRESS, in)
		p.program(i, netlink.HANDLE_MIN_EGRESS, out)
	}
	for i, err := range p.flush() {
		if err != nil {
			return fmt.Errorf("attach to %s: %w", names[i/2], err)
		}
	}
	return nil
}

// program puts a program on a hook, in place of an older one.
func (p *Ports) program(index int, parent uint32, program *ebpf.Program) {
	options := nl.NewRtAttr(nl.TCA_OPTIONS, nil)
	options.AddRtAttr(nl.TCA_BPF_FD, nl.Uint32Attr(uint32(program.FD())))
	options.AddRtAttr(nl.TCA_BPF_NAME, nl.ZeroTerminated(filterName))
	options.AddRtAttr(nl.TCA_BPF_FLAGS, nl.Uint32Attr(nl.TCA_BPF_FLAG_ACT_DIRECT))
	p.add(unix.RTM_NEWTFILTER, unix.NLM_F_CREATE, append(filter(index, parent), options)...)
}

// Detach takes the programs off ports, and clsact with them where nobody else
// uses it. A port that is not there any more has nothing of ours.
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

// hooks tells on which of a port's hooks our programs are, and whether there is anything of others'.
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
