package datapath

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
)

const (
	// Major handles of our qdiscs; the router agent's are 0x7e00 and up.
	fqMajor  = 0x7c01
	htbMajor = 0x7c02
	// classMinor as CLASS_MINOR of pe.c; classRest is for all that is not shaped.
	classMinor = 0x10
	classRest  = 0xf
	// MaxHTBFlows is what fits into the 16 bits of an HTB minor.
	MaxHTBFlows = 0xffff - classMinor
)

// Scheduler is what keeps the departure times on a core port.
type Scheduler struct {
	mode Mode
	link netlink.Link
}

// OpenScheduler puts fq or HTB on a core port: as the port's root qdisc in place
// of the kernel's default, or below a token bucket that gives the line its rate.
// A qdisc of ours that is there already stays.
func OpenScheduler(port string, mode Mode, flows, queue int) (*Scheduler, error) {
	l, err := netlink.LinkByName(port)
	if err != nil {
		return nil, fmt.Errorf("find port %s: %w", port, err)
	}
	s := &Scheduler{mode: mode, link: l}
	if mode == Police {
		return s, nil
	}
	parent, ours, err := place(l)
	if err != nil {
		return nil, fmt.Errorf("port %s: %w", port, err)
	}
	if ours == mode.major() {
		return s, nil
	}
	if mode == EDT {
		err = addFq(l, parent, flows, queue)
	} else {
		err = addHTB(l, parent)
	}
	if err != nil {
		return nil, fmt.Errorf("put %s on %s: %w", mode, port, err)
	}
	return s, nil
}

func (m Mode) major() uint16 {
	if m == EDT {
		return fqMajor
	}
	return htbMajor
}

// Handle is what core_out puts classes below.
func (m Mode) Handle() uint32 { return uint32(m.major()) << 16 }

// place finds where our qdisc belongs, and the major handle of one that is there already.
func place(l netlink.Link) (parent uint32, ours uint16, err error) {
	list, err := netlink.QdiscList(l)
	if err != nil {
		return 0, 0, fmt.Errorf("list qdiscs: %w", err)
	}
	parent = netlink.HANDLE_ROOT
	for _, q := range list {
		major, _ := netlink.MajorMinor(q.Attrs().Handle)
		switch {
		case major == fqMajor || major == htbMajor:
			ours = major
		case q.Attrs().Parent != netlink.HANDLE_ROOT:
		case q.Type() == "tbf":
			parent = netlink.MakeHandle(major, 1)
		case major != 0 && q.Type() != "noqueue":
			// A handle means that somebody put it there; the kernel's own default has none.
			err = fmt.Errorf("its root qdisc %s was put there by somebody; take it off first", q.Type())
		}
	}
	return parent, ours, err
}

func addFq(l netlink.Link, parent uint32, flows, queue int) error {
	fq := netlink.NewFq(netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: netlink.MakeHandle(fqMajor, 0), Parent: parent})
	// The programs bound each VPN flow's queue; fq must not be the one that drops.
	fq.PacketLimit = uint32(min(max(flows, 64)*queue*2, 1<<22))
	fq.FlowPacketLimit = uint32(queue * 4)
	fq.Buckets = 14 // a power of two
	return netlink.QdiscReplace(fq)
}

func addHTB(l netlink.Link, parent uint32) error {
	htb := netlink.NewHtb(netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: netlink.MakeHandle(htbMajor, 0), Parent: parent})
	htb.Defcls = classRest
	if err := netlink.QdiscReplace(htb); err != nil {
		return err
	}
	return (&Scheduler{mode: HTB, link: l}).class(classRest, 100e9/8)
}

// SetRate follows a flow's rate where a class has to be told; 0 is no limit.
func (s *Scheduler) SetRate(slot uint32, bytesPerSecond float64) error {
	if s.mode != HTB {
		return nil
	}
	if bytesPerSecond == 0 {
		bytesPerSecond = 100e9 / 8
	}
	// A hair above the clock of core_out, which is what bounds the queue: the class must never be the slower of the two.
	return s.class(classMinor+uint16(slot), bytesPerSecond*1.002)
}

func (s *Scheduler) class(minor uint16, bytesPerSecond float64) error {
	bits := uint64(bytesPerSecond * 8)
	burst := uint32(min(max(bytesPerSecond/500, 3200), 1<<20)) // 2 ms, as late as a timer may be
	c := netlink.NewHtbClass(
		netlink.ClassAttrs{LinkIndex: s.link.Attrs().Index, Parent: netlink.MakeHandle(htbMajor, 0), Handle: netlink.MakeHandle(htbMajor, minor)},
		netlink.HtbClassAttrs{Rate: bits, Ceil: bits, Buffer: burst, Cbuffer: burst, Quantum: 3028})
	if err := netlink.ClassReplace(c); err != nil {
		return fmt.Errorf("set class %#x: %w", minor, err)
	}
	return nil
}

// CloseScheduler takes our qdisc off a port.
func CloseScheduler(port string) error {
	l, err := netlink.LinkByName(port)
	if err != nil {
		return fmt.Errorf("find port %s: %w", port, err)
	}
	list, err := netlink.QdiscList(l)
	if err != nil {
		return fmt.Errorf("list qdiscs of %s: %w", port, err)
	}
	for _, q := range list {
		if major, _ := netlink.MajorMinor(q.Attrs().Handle); major == fqMajor || major == htbMajor {
			err = errors.Join(err, netlink.QdiscDel(q))
		}
	}
	return err
}
