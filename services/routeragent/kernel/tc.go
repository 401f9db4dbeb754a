package kernel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// tcObject is a qdisc or class as the kernel dumps it. Options are kept as
// bytes, because whatever we replace must be restored exactly.
type tcObject struct {
	Index   int    `json:"-"`
	Handle  uint32 `json:"handle"`
	Parent  uint32 `json:"parent"`
	Info    uint32 `json:"-"`
	Kind    string `json:"kind"`
	Options []byte `json:"options"`
	stats   QueueCounters
}

const (
	root      = 0xffffffff // TC_H_ROOT
	clsactID  = 0xfffffff1 // TC_H_CLSACT
	clsactHdl = 0xffff0000
)

func tcMsg(index int, handle, parent uint32) *nl.TcMsg {
	return &nl.TcMsg{Family: unix.AF_UNSPEC, Ifindex: int32(index), Handle: handle, Parent: parent}
}

func tcRequest(typ, flags, index int, handle, parent uint32, kind string, options []byte) *nl.NetlinkRequest {
	req := nl.NewNetlinkRequest(typ, flags)
	req.AddData(tcMsg(index, handle, parent))
	if kind != "" {
		req.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated(kind)))
	}
	if options != nil {
		req.AddData(nl.NewRtAttr(nl.TCA_OPTIONS, options))
	}
	return req
}

func newQdisc(index int, handle, parent uint32, kind string, options []byte) *nl.NetlinkRequest {
	return tcRequest(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, index, handle, parent, kind, options)
}

func newClass(index int, handle, parent uint32, options []byte) *nl.NetlinkRequest {
	return tcRequest(unix.RTM_NEWTCLASS, unix.NLM_F_CREATE, index, handle, parent, "htb", options)
}

func delQdisc(index int, handle, parent uint32) *nl.NetlinkRequest {
	return tcRequest(unix.RTM_DELQDISC, 0, index, handle, parent, "", nil)
}

func (c *conn) qdiscs(index int) ([]tcObject, error) {
	return c.tcDump(unix.RTM_GETQDISC, unix.RTM_NEWQDISC, index)
}

func (c *conn) classes(index int) ([]tcObject, error) {
	return c.tcDump(unix.RTM_GETTCLASS, unix.RTM_NEWTCLASS, index)
}

// tcDump lists the objects of one interface. The kernel lists the qdiscs of all interfaces, whichever was requested.
func (c *conn) tcDump(ask, answer, index int) ([]tcObject, error) {
	all, err := c.tcDumpAll(ask, answer, index)
	return all[index], err
}

// allQdiscs are those of all interfaces, by index.
func (c *conn) allQdiscs() (map[int][]tcObject, error) {
	return c.tcDumpAll(unix.RTM_GETQDISC, unix.RTM_NEWQDISC, 0)
}

func (c *conn) tcDumpAll(ask, answer, index int) (map[int][]tcObject, error) {
	msgs, err := c.dump(ask, tcMsg(index, 0, 0), uint16(answer))
	if err != nil {
		return nil, fmt.Errorf("dump qdiscs: %w", err)
	}
	out := map[int][]tcObject{}
	for _, m := range msgs {
		o, err := parseTC(m)
		if err != nil {
			return nil, err
		}
		out[o.Index] = append(out[o.Index], o)
	}
	return out, nil
}

func parseTC(m []byte) (tcObject, error) {
	if len(m) < 20 {
		return tcObject{}, fmt.Errorf("short tc message of %d bytes", len(m))
	}
	h := nl.DeserializeTcMsg(m)
	o := tcObject{Index: int(h.Ifindex), Handle: h.Handle, Parent: h.Parent, Info: h.Info}
	attrs, err := nl.ParseRouteAttr(m[h.Len():])
	if err != nil {
		return o, fmt.Errorf("parse tc message: %w", err)
	}
	for _, a := range attrs {
		switch a.Attr.Type {
		case nl.TCA_KIND:
			o.Kind = strings.TrimRight(string(a.Value), "\x00")
		case nl.TCA_OPTIONS:
			o.Options = bytes.Clone(a.Value)
		case nl.TCA_STATS2:
			o.stats = parseStats(a.Value)
		}
	}
	return o, nil
}

// parseStats reads gnet_stats_basic (octets, packets) and
// gnet_stats_queue (drops); a 64-bit packet count, where present, wins.
func parseStats(raw []byte) QueueCounters {
	var q QueueCounters
	attrs, err := nl.ParseRouteAttr(raw)
	if err != nil {
		return q
	}
	e := binary.NativeEndian
	for _, a := range attrs {
		switch v := a.Value; {
		case a.Attr.Type == statsBasic && len(v) >= 12:
			q.Octets, q.Packets = e.Uint64(v), max(q.Packets, uint64(e.Uint32(v[8:])))
		case a.Attr.Type == statsQueue && len(v) >= 12:
			q.Backlog, q.Drops = uint64(e.Uint32(v[4:])), uint64(e.Uint32(v[8:]))
		case a.Attr.Type == statsPkt64 && len(v) >= 8:
			q.Packets = max(q.Packets, e.Uint64(v))
		}
	}
	return q
}

// Attributes of TCA_STATS2 (linux/gen_stats.h).
const (
	statsBasic = 1
	statsQueue = 3
	statsPkt64 = 8
)
