package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
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

// Scheduler is the queueing discipline that enforces departure times on a core port.
type Scheduler struct {
	// Port is the name of the core port.
	Port  string
	mode  Mode
	index int
	rt    *rtnetlink
	// template is the message that sets a class; see classMessage.
	template []byte
}

// OpenScheduler adds fq or HTB to a core port: as root qdisc in place of the kernel's default, or as child of a tbf
// that sets the port's rate. A qdisc of an earlier agent stays.
func OpenScheduler(port string, mode Mode, flows, queue int) (*Scheduler, error) {
	l, err := netlink.LinkByName(port)
	if err != nil {
		return nil, fmt.Errorf("find port %s: %w", port, err)
	}
	s := &Scheduler{Port: port, mode: mode, index: l.Attrs().Index}
	if mode == Police {
		return s, nil
	}
	if mode == HTB {
		if s.rt, err = openRtnetlink(); err != nil {
			return nil, err
		}
		s.template = classMessage(s.index)
	}
	parent, ours, err := findParent(l)
	if err != nil {
		return nil, fmt.Errorf("port %s: %w", port, err)
	}
	if ours == mode.major() {
		return s, nil
	}
	if mode == EDT {
		err = addFq(l, parent, flows, queue)
	} else {
		err = s.addHTB(l, parent)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil, mode.feature().unsupported(err)
	}
	if err != nil {
		return nil, fmt.Errorf("add the qdisc of mode %s to %s: %w", mode, port, err)
	}
	return s, nil
}

func (m Mode) major() uint16 {
	if m == EDT {
		return fqMajor
	}
	return htbMajor
}

// feature is the kernel's part of a mode.
func (m Mode) feature() feature {
	if m == EDT {
		return featureFq
	}
	return featureHTB
}

// Handle is the handle of the qdisc whose classes core_out selects.
func (m Mode) Handle() uint32 { return uint32(m.major()) << 16 }

// findParent finds the parent for our qdisc, and the major handle of one of an earlier agent.
func findParent(l netlink.Link) (parent uint32, ours uint16, err error) {
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
			// The kernel's default qdisc has no handle; this one was configured.
			err = fmt.Errorf("its root qdisc %s was configured by another program; remove it first: tc qdisc del dev %s root", q.Type(), l.Attrs().Name)
		}
	}
	return parent, ours, err
}

func addFq(l netlink.Link, parent uint32, flows, queue int) error {
	fq := netlink.NewFq(netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: netlink.MakeHandle(fqMajor, 0), Parent: parent})
	// The programs limit each VPN flow's queue; fq must not drop.
	fq.PacketLimit = uint32(min(max(flows, 64)*queue*2, 1<<22))
	fq.FlowPacketLimit = uint32(queue * 4)
	fq.Buckets = 14 // a power of two
	return netlink.QdiscReplace(fq)
}

func (s *Scheduler) addHTB(l netlink.Link, parent uint32) error {
	htb := netlink.NewHtb(netlink.QdiscAttrs{LinkIndex: s.index, Handle: netlink.MakeHandle(htbMajor, 0), Parent: parent})
	htb.Defcls = classRest
	if err := netlink.QdiscReplace(htb); err != nil {
		return err
	}
	s.class(classRest, unlimited)
	return errors.Join(s.rt.flush()...)
}

const (
	// unlimited is the rate of the class without a limit, bytes per second.
	unlimited = 100e9 / 8
	// classHeadroom is the rate of a class over that of core_out, whose queue limit counts: the class must not be the
	// slower of the two.
	classHeadroom = 1.002
	// burstsPerSecond: a burst is 2 ms long, which is how late the timer of HTB may be. minBurst and maxBurst, in
	// bytes, bound the burst.
	burstsPerSecond = 500
	minBurst        = 3200
	maxBurst        = 1 << 20
)

// SetRate sets the rate of a flow's HTB class with the next Flush; 0 is no limit. In other modes it does nothing.
func (s *Scheduler) SetRate(flow uint32, bytesPerSecond float64) {
	if s.mode != HTB {
		return
	}
	if bytesPerSecond == 0 {
		bytesPerSecond = unlimited
	}
	s.class(classMinor+uint16(flow), bytesPerSecond*classHeadroom)
}

// Flush writes the rates since the last Flush to the kernel, in a few system calls.
func (s *Scheduler) Flush() error {
	if s.rt == nil {
		return nil
	}
	if err := errors.Join(s.rt.flush()...); err != nil {
		return fmt.Errorf("set classes: %w", err)
	}
	return nil
}

// Close closes the rtnetlink socket; the qdisc stays.
func (s *Scheduler) Close() {
	if s.rt != nil {
		s.rt.close()
	}
}

// Offsets in the message of a class: the handle and, after the headers of the attributes TCA_KIND, TCA_OPTIONS and
// TCA_HTB_PARMS, struct tc_htb_opt and the 64-bit rates.
const (
	atHandle = unix.SizeofNlMsghdr + 8
	atParms  = unix.SizeofNlMsghdr + 20 + 8 + 4 + 4
	atRate   = atParms + 8
	atCeil   = atParms + 20
	atBuffer = atParms + 24
	atRate64 = atParms + 44 + 4
	atCeil64 = atRate64 + 8 + 4
)

// classMessage is the template that class fills in. In mode htb each flow's class changes often, and building the
// message anew would cost as much as the kernel's part. With the link layer given, the kernel needs no rate table.
func classMessage(index int) []byte {
	rate := nl.TcRateSpec{Linklayer: nl.LINKLAYER_ETHERNET}
	p := nl.TcHtbCopt{Rate: rate, Ceil: rate, Quantum: 3028}
	options := nl.NewRtAttr(nl.TCA_OPTIONS, nil)
	options.AddRtAttr(nl.TCA_HTB_PARMS, p.Serialize())
	options.AddRtAttr(nl.TCA_HTB_RATE64, nl.Uint64Attr(0))
	options.AddRtAttr(nl.TCA_HTB_CEIL64, nl.Uint64Attr(0))
	head := traffic(index, 0, netlink.MakeHandle(htbMajor, 0), 0)
	return message(unix.RTM_NEWTCLASS, unix.NLM_F_CREATE, head, kind("htb"), options)
}

// class makes or changes a class.
func (s *Scheduler) class(minor uint16, bytesPerSecond float64) {
	burst := min(max(bytesPerSecond/burstsPerSecond, minBurst), maxBurst)
	time := netlink.Xmittime(uint64(bytesPerSecond), uint32(burst))
	e, m := binary.NativeEndian, s.rt.append(s.template)
	e.PutUint32(m[atHandle:], netlink.MakeHandle(htbMajor, minor))
	for _, at := range []int{atRate, atCeil} {
		e.PutUint32(m[at:], uint32(min(bytesPerSecond, 1<<32-1)))
	}
	for _, at := range []int{atRate64, atCeil64} {
		e.PutUint64(m[at:], uint64(bytesPerSecond))
	}
	e.PutUint32(m[atBuffer:], time)
	e.PutUint32(m[atBuffer+4:], time)
}

// CloseScheduler removes our qdisc from a port. Below a tbf a bfifo of the tbf's limit replaces it, which is what a tbf
// has by default: without a child the tbf would drop every packet.
func CloseScheduler(port string) error {
	l, err := netlink.LinkByName(port)
	if err != nil {
		return fmt.Errorf("find port %s: %w", port, err)
	}
	list, err := netlink.QdiscList(l)
	if err != nil {
		return fmt.Errorf("list qdiscs of %s: %w", port, err)
	}
	limits := map[uint32]uint32{} // of tbf qdiscs, by the handle of their class
	for _, q := range list {
		if t, ok := q.(*netlink.Tbf); ok {
			limits[netlink.MakeHandle(uint16(t.Handle>>16), 1)] = t.Limit
		}
	}
	for _, q := range list {
		if major, _ := netlink.MajorMinor(q.Attrs().Handle); major != fqMajor && major != htbMajor {
			continue
		}
		if limit, ok := limits[q.Attrs().Parent]; ok {
			err = errors.Join(err, replaceByFIFO(l.Attrs().Index, q.Attrs().Parent, limit))
		} else {
			err = errors.Join(err, netlink.QdiscDel(q))
		}
	}
	return err
}

// replaceByFIFO replaces the child of a parent by a bfifo of so many octets.
func replaceByFIFO(index int, parent, octets uint32) error {
	r, err := openRtnetlink()
	if err != nil {
		return err
	}
	defer r.close()
	options := nl.NewRtAttr(nl.TCA_OPTIONS, nl.Uint32Attr(octets)) // struct tc_fifo_qopt
	r.add(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, traffic(index, 0, parent, 0), kind("bfifo"), options)
	return errors.Join(r.flush()...)
}
