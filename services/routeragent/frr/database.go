package frr

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Database is the OSPF link-state database as this router has it.
type Database struct {
	// Self is this router's id.
	Self netip.Addr
	// Areas by dotted quad, routers in them by id.
	Areas map[string]map[netip.Addr]*Node
}

// Node is a router.
type Node struct {
	ID netip.Addr
	// Loopback carries the prefix SID; the zero Addr if there is none.
	Loopback  netip.Addr
	SRGBLower uint32
	SRGBSize  uint32
	// Index of the prefix SID; meaningful if HasSID.
	Index    uint32
	HasSID   bool
	Prefixes []Prefix
	Links    []Link
}

// Prefix is a stub network.
type Prefix struct {
	Prefix netip.Prefix
	Metric uint32
}

// Link is a point-to-point adjacency.
type Link struct {
	Local, Remote netip.Addr
	Neighbor      netip.Addr
	Metric        uint32
	TEMetric      uint32
	// Bandwidth in bit/s, 0 if not advertised.
	Bandwidth uint64
	// Adjacency is the label of the unprotected adjacency SID, 0 if there is none.
	Adjacency uint32
}

// Commands whose output ParseDatabase reads.
var databaseCommands = []string{
	"show ip ospf database router json",
	"show ip ospf mpls-te database json",
	"show ip ospf database segment-routing json",
}

// ParseDatabase reads the output of databaseCommands. Parts that FRR does not
// give (no traffic engineering, no segment routing) are left out.
func ParseDatabase(out string) (*Database, error) {
	db := &Database{Areas: map[string]map[netip.Addr]*Node{}}
	for _, doc := range documents(out) {
		var probe map[string]json.RawMessage
		if err := json.Unmarshal(doc, &probe); err != nil {
			return nil, fmt.Errorf("parse FRR output: %w", err)
		}
		var err error
		switch {
		case probe["routerLinkStates"] != nil:
			err = db.readRouters(doc)
		case probe["ted"] != nil:
			err = db.readTED(probe["ted"])
		case probe["srNodes"] != nil:
			err = db.readSR(doc)
		}
		if err != nil {
			return nil, fmt.Errorf("parse FRR output: %w", err)
		}
	}
	for _, area := range db.Areas {
		for _, n := range area {
			n.sort()
		}
	}
	return db, nil
}

// documents cuts the JSON objects out of what vtysh printed.
func documents(out string) [][]byte {
	var docs [][]byte
	for {
		i := strings.Index(out, "{")
		if i < 0 {
			return docs
		}
		d := json.NewDecoder(strings.NewReader(out[i:]))
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return docs
		}
		docs = append(docs, raw)
		out = out[i+int(d.InputOffset()):]
	}
}

func (n *Node) sort() {
	slices.SortFunc(n.Links, func(a, b Link) int { return a.Local.Compare(b.Local) })
	slices.SortFunc(n.Prefixes, func(a, b Prefix) int { return strings.Compare(a.Prefix.String(), b.Prefix.String()) })
}

type routerLSA struct {
	AdvertisingRouter netip.Addr `json:"advertisingRouter"`
	Age               int        `json:"lsaAge"`
	Links             map[string]struct {
		Type     string     `json:"linkType"`
		Neighbor netip.Addr `json:"neighborRouterId"`
		Local    netip.Addr `json:"routerInterfaceAddress"`
		Network  netip.Addr `json:"networkAddress"`
		Mask     netip.Addr `json:"networkMask"`
		Metric   uint32     `json:"tos0Metric"`
	} `json:"routerLinks"`
}

const maxAge = 3600 // RFC 2328 appendix B: an LSA of this age is being withdrawn

func (db *Database) readRouters(doc []byte) error {
	var in struct {
		RouterID netip.Addr `json:"routerId"`
		States   struct {
			Areas map[string][]routerLSA `json:"areas"`
		} `json:"routerLinkStates"`
	}
	if err := json.Unmarshal(doc, &in); err != nil {
		return err
	}
	db.Self = in.RouterID
	for area, lsas := range in.States.Areas {
		nodes := map[netip.Addr]*Node{}
		for _, lsa := range lsas {
			if lsa.Age < maxAge {
				nodes[lsa.AdvertisingRouter] = lsa.node()
			}
		}
		db.Areas[area] = nodes
	}
	return nil
}

func (lsa routerLSA) node() *Node {
	n := &Node{ID: lsa.AdvertisingRouter}
	for _, l := range lsa.Links {
		switch {
		case strings.Contains(l.Type, "point-to-point"):
			n.Links = append(n.Links, Link{Local: l.Local, Neighbor: l.Neighbor, Metric: l.Metric})
		case strings.HasPrefix(l.Type, "Stub"):
			n.Prefixes = append(n.Prefixes, Prefix{Prefix: netip.PrefixFrom(l.Network, maskBits(l.Mask)), Metric: l.Metric})
		}
	}
	return n
}

func maskBits(mask netip.Addr) int {
	bits := 0
	for _, b := range mask.AsSlice() {
		for ; b&0x80 != 0; b <<= 1 {
			bits++
		}
	}
	return bits
}

// link finds an adjacency by the advertiser's address, in whatever area it is.
func (db *Database) link(router, local netip.Addr) *Link {
	for _, area := range db.Areas {
		if n := area[router]; n != nil {
			for i := range n.Links {
				if n.Links[i].Local == local {
					return &n.Links[i]
				}
			}
		}
	}
	return nil
}

func (db *Database) readTED(raw []byte) error {
	var in struct {
		Edges []struct {
			Router     netip.Addr `json:"advertised-router"`
			Metric     uint32     `json:"metric"`
			Attributes struct {
				Local     netip.Addr `json:"local-address"`
				Remote    netip.Addr `json:"remote-address"`
				TEMetric  *uint32    `json:"te-metric"`
				Bandwidth float64    `json:"max-link-bandwidth"`
			} `json:"edge-attributes"`
			Segments []struct {
				SID   uint32 `json:"adj-sid"`
				Flags string `json:"flags"`
			} `json:"segment-routing"`
		} `json:"edges"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	for _, e := range in.Edges {
		l := db.link(e.Router, e.Attributes.Local)
		if l == nil {
			continue
		}
		l.Remote, l.TEMetric = e.Attributes.Remote, e.Metric
		if e.Attributes.TEMetric != nil {
			l.TEMetric = *e.Attributes.TEMetric
		}
		l.Bandwidth = uint64(e.Attributes.Bandwidth * 8)
		for _, s := range e.Segments {
			if !protected(s.Flags) {
				l.Adjacency = s.SID
			}
		}
	}
	return nil
}

// protected reads the B flag of an adjacency SID (RFC 8665 section 6.1).
func protected(flags string) bool {
	var f uint8
	_, err := fmt.Sscanf(flags, "0x%x", &f)
	return err == nil && f&0x80 != 0
}

func (db *Database) readSR(doc []byte) error {
	var in struct {
		Nodes []struct {
			ID       netip.Addr `json:"routerID"`
			Size     uint32     `json:"srgbSize"`
			Lower    uint32     `json:"srgbLabel"`
			Prefixes []struct {
				Prefix netip.Prefix `json:"prefix"`
				SID    uint32       `json:"sid"`
			} `json:"extendedPrefix"`
			Links []struct {
				Local netip.Prefix `json:"prefix"`
				SID   uint32       `json:"sid"`
			} `json:"extendedLink"`
		} `json:"srNodes"`
	}
	if err := json.Unmarshal(doc, &in); err != nil {
		return err
	}
	for _, s := range in.Nodes {
		for _, l := range s.Links {
			// FRR 8.4.4 loses adjacency SIDs from its TE database when a link comes back; its SR database has
			// them, the unprotected one first.
			if link := db.link(s.ID, l.Local.Addr()); link != nil && link.Adjacency == 0 {
				link.Adjacency = l.SID
			}
		}
		for _, area := range db.Areas {
			n := area[s.ID]
			if n == nil {
				continue
			}
			n.SRGBLower, n.SRGBSize = s.Lower, s.Size
			for _, p := range s.Prefixes {
				// The router id's own prefix wins where a node has several SIDs.
				if p.Prefix.Bits() == 32 && (!n.HasSID || p.Prefix.Addr() == n.ID) {
					n.Loopback, n.Index, n.HasSID = p.Prefix.Addr(), p.SID, true
				}
			}
		}
	}
	return nil
}

// AreaNames lists areas in order.
func (db *Database) AreaNames() []string { return slices.Sorted(maps.Keys(db.Areas)) }
