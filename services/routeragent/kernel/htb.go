package kernel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/vishvananda/netlink/nl"
)

// tree is the intended HTB tree of one port.
type tree struct {
	index      int
	generation int
	port       Port
}

func (t tree) major() uint32      { return uint32(handleBase+t.generation) << 16 }
func (t tree) class(n int) uint32 { return t.major() | uint32(classMinor+n) }

// create returns the requests that put the whole tree on the interface, root first.
func (t tree) create() []*nl.NetlinkRequest {
	reqs := []*nl.NetlinkRequest{
		newQdisc(t.index, t.major(), root, "htb", htbInit(classMinor+t.port.Default)),
		newClass(t.index, t.major()|1, t.major(), htbClass(t.port.Speed, t.port.Speed, 0, rootQuantum)),
	}
	for _, q := range t.port.Queues {
		reqs = append(reqs, t.leaf(q)...)
	}
	return reqs
}

func (t tree) leaf(q Queue) []*nl.NetlinkRequest {
	return append([]*nl.NetlinkRequest{newClass(t.index, t.class(q.Class), t.major()|1, t.htbLeaf(q))}, t.leafQdisc(q)...)
}

// htbLeaf is the class of a queue; a ceiling of its own makes it a strict partition.
func (t tree) htbLeaf(q Queue) []byte {
	ceil := t.port.Speed
	if q.Ceil > 0 {
		ceil = min(q.Ceil, ceil)
	}
	return htbClass(min(q.Rate, ceil), ceil, q.Priority, q.Quantum)
}

const rootQuantum = 60000

// htbInit encodes TCA_HTB_INIT. The class of the default queue is part of the
// qdisc and cannot be changed in place.
func htbInit(defaultMinor int) []byte {
	glob := make([]byte, 20) // struct tc_htb_glob
	e := binary.NativeEndian
	e.PutUint32(glob[0:], 3)  // version
	e.PutUint32(glob[4:], 10) // rate2quantum
	e.PutUint32(glob[8:], uint32(defaultMinor))
	return attrs(attr{htbAttrInit, glob})
}

// Attributes of HTB (linux/pkt_sched.h).
const (
	htbAttrParms  = 1
	htbAttrInit   = 2
	htbAttrRate64 = 6
	htbAttrCeil64 = 7
)

type attr struct {
	typ   int
	value []byte
}

func attrs(list ...attr) []byte {
	var out []byte
	for _, a := range list {
		out = append(out, nl.NewRtAttr(a.typ, a.value).Serialize()...)
	}
	return out
}

// htbClass encodes struct tc_htb_opt. The link layer is given, so the kernel needs no rate table.
func htbClass(rate, ceil uint64, priority int, quantum uint32) []byte {
	opt := make([]byte, 44)
	e := binary.NativeEndian
	rateSpec(opt[0:], rate/8)
	rateSpec(opt[12:], ceil/8)
	e.PutUint32(opt[24:], burstTicks(rate))
	e.PutUint32(opt[28:], burstTicks(ceil))
	e.PutUint32(opt[32:], quantum)
	e.PutUint32(opt[40:], uint32(priority))
	list := []attr{{htbAttrParms, opt}}
	if rate/8 > 0xffffffff {
		list = append(list, attr{htbAttrRate64, e.AppendUint64(nil, rate/8)})
	}
	if ceil/8 > 0xffffffff {
		list = append(list, attr{htbAttrCeil64, e.AppendUint64(nil, ceil/8)})
	}
	return attrs(list...)
}

// rateSpec fills struct tc_ratespec: link layer Ethernet, rate in bytes/s.
func rateSpec(b []byte, bytesPerSecond uint64) {
	b[1] = 1
	binary.NativeEndian.PutUint32(b[8:], uint32(min(bytesPerSecond, 0xffffffff)))
}

// burstTicks is the burst of a class in units of 64 ns: one packet and two
// milliseconds at its rate, so that a late timer costs no throughput.
func burstTicks(rate uint64) uint32 {
	const mtu, slack = 1600, 2_000_000
	ns := slack + mtu*8*1_000_000_000/max(rate, 1)
	return uint32(min(ns>>6, 0xffffffff))
}

// equal reports whether the kernel's qdiscs and classes of an interface are exactly this tree.
func (t tree) equal(qdiscs, classes []tcObject) bool {
	want := map[string]bool{}
	add := func(what string, handle, parent uint32, options []byte) {
		want[fmt.Sprintf("%s %x %x %x", what, handle, parent, options)] = true
	}
	add("htb", t.major(), root, nil)
	add("class", t.major()|1, root, ownParts(htbClass(t.port.Speed, t.port.Speed, 0, rootQuantum)))
	for _, q := range t.port.Queues {
		add("class", t.class(q.Class), t.major()|1, ownParts(t.htbLeaf(q)))
		want[t.leafWant(q)] = true
	}
	var got []string
	for _, o := range qdiscs {
		switch {
		case o.Kind == "clsact" || o.Kind == "ingress":
		case o.Kind == "htb":
			if !bytes.Contains(o.Options, binary.NativeEndian.AppendUint32(nil, uint32(classMinor+t.port.Default))) {
				return false
			}
			got = append(got, fmt.Sprintf("htb %x %x ", o.Handle, o.Parent))
		default:
			got = append(got, leafGot(o))
		}
	}
	for _, o := range classes {
		if o.Kind != "htb" {
			continue // red shows its queue as a class
		}
		got = append(got, fmt.Sprintf("class %x %x %x", o.Handle, o.Parent, ownParts(o.Options)))
	}
	sort.Strings(got)
	for _, g := range got {
		if !want[g] {
			return false
		}
	}
	return len(got) == len(want)
}

// ownParts are the values of a class that we set, without the level and the statistics that the kernel adds.
func ownParts(options []byte) []byte {
	list, err := nl.ParseRouteAttr(options)
	if err != nil {
		return nil
	}
	var out []byte
	for _, a := range list {
		v := bytes.Clone(a.Value)
		switch {
		case a.Attr.Type == htbAttrParms && len(v) >= 44:
			// cell_log, overhead alignment and level are the kernel's own.
			v[0], v[2], v[3] = 0, 0, 0
			copy(v[4:8], make([]byte, 4))
			v[12], v[14], v[15] = 0, 0, 0
			copy(v[16:20], make([]byte, 4))
			copy(v[36:40], make([]byte, 4))
			out = append(out, v[:44]...)
		case a.Attr.Type == htbAttrRate64 || a.Attr.Type == htbAttrCeil64:
			out = append(out, v...)
		}
	}
	return out
}
