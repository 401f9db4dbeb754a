package kernel

import (
	"encoding/binary"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// fillSegments completes a multipath route with the segments of each next hop: the
// netlink library decodes the segments of single routes only.
func (k *Kernel) fillSegments(r *netlink.Route, family int) error {
	missing := false
	for _, w := range r.MultiPath {
		missing = missing || w.Encap == nil
	}
	if !missing {
		return nil
	}
	msgs, err := k.conn.dump(unix.RTM_GETROUTE, &nl.RtMsg{RtMsg: unix.RtMsg{Family: uint8(family)}}, unix.RTM_NEWROUTE)
	if err != nil {
		return fmt.Errorf("list routes: %w", err)
	}
	for _, m := range msgs {
		header := nl.DeserializeRtMsg(m)
		attrs, err := nl.ParseRouteAttr(m[header.Len():])
		if err != nil {
			return fmt.Errorf("parse route: %w", err)
		}
		byType := map[uint16][]byte{}
		for _, a := range attrs {
			byType[a.Attr.Type&nlaTypeMask] = a.Value
		}
		if header.Dst_len == 0 && len(byType[unix.RTA_TABLE]) >= 4 && int(binary.NativeEndian.Uint32(byType[unix.RTA_TABLE])) == r.Table {
			return fillNextHops(r.MultiPath, byType[unix.RTA_MULTIPATH])
		}
	}
	return nil
}

// fillNextHops walks struct rtnexthop and its attributes, one for each next hop.
func fillNextHops(nextHops []*netlink.NexthopInfo, raw []byte) error {
	const header = 8
	for i := 0; i < len(nextHops) && len(raw) >= header; i++ {
		length := int(binary.NativeEndian.Uint16(raw))
		if length < header || length > len(raw) {
			return fmt.Errorf("a next hop of %d octets in %d", length, len(raw))
		}
		attrs, err := nl.ParseRouteAttr(raw[header:length])
		if err != nil {
			return fmt.Errorf("parse next hop: %w", err)
		}
		var kind uint16
		var encap []byte
		for _, a := range attrs {
			switch a.Attr.Type & nlaTypeMask {
			case unix.RTA_ENCAP_TYPE:
				kind = binary.NativeEndian.Uint16(a.Value)
			case unix.RTA_ENCAP:
				encap = a.Value
			}
		}
		if kind == nl.LWTUNNEL_ENCAP_SEG6 && nextHops[i].Encap == nil {
			e := &netlink.SEG6Encap{}
			if err := e.Decode(encap); err != nil {
				return fmt.Errorf("parse segments: %w", err)
			}
			nextHops[i].Encap = e
		}
		raw = raw[min((length+3)&^3, len(raw)):]
	}
	return nil
}
