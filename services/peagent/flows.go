package peagent

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/millrace/millrace/services/peagent/bpf"
	"github.com/millrace/millrace/services/peagent/datapath"
	"github.com/millrace/millrace/services/peagent/law"
)

// vpnFlow is one VPN flow that enters the network here.
type vpnFlow struct {
	law.Flow
	vpn    uint32       // place in Configuration.VPNs
	egress [4]byte      // the far PE
	to     *net.UDPAddr // nil where the slot is not in use

	sequence       uint64 // of the last request
	answered       uint64 // sequence of the last answer
	probes         uint64 // sequence of the last probe (mode htb)
	requested      uint64 // when the last request departs, ns
	waiting        uint64 // when the oldest request without an answer departs, ns; 0 = none
	packets        uint64 // counter at the last request
	reported       uint64 // counter at the last report
	waited         uint64 // counter of queued packets at the last report
	octets         uint64 // counter at the last sample
	octetsReported uint64 // counter at the last report
	bits           float64
	applied        float64 // rate of the class, bytes per second (mode htb)
	warned         bool
	limited        bool // by its rate, at the last report
}

// registry is the VPN flows by slot, and which prefixes lead to them.
type registry struct {
	flows  []vpnFlow
	slots  map[flowKey]uint32
	routes []map[netip.Prefix]netip.Addr // per VPN: prefix to PE
	// addresses are of PEs, each once.
	addresses map[[4]byte]*net.UDPAddr
}

type flowKey struct {
	vpn    uint32
	egress [4]byte
}

// pe is the flow's far end.
func (f *vpnFlow) pe() netip.Addr { return netip.AddrFrom4(f.egress) }

func newRegistry(vpns, flows int) registry {
	r := registry{flows: make([]vpnFlow, 0, flows), slots: map[flowKey]uint32{}, addresses: map[[4]byte]*net.UDPAddr{}, routes: make([]map[netip.Prefix]netip.Addr, vpns)}
	for i := range r.routes {
		r.routes[i] = map[netip.Prefix]netip.Addr{}
	}
	return r
}

// slot finds or makes the flow of a VPN to a PE. A slot is never given to another flow while the agent runs.
func (a *Agent) slot(vpn int, egress netip.Addr) (uint32, error) {
	key := flowKey{uint32(vpn), egress.As4()}
	if s, ok := a.reg.slots[key]; ok {
		return s, nil
	}
	s, err := a.recall(vpn, egress)
	if err != nil {
		return 0, err
	}
	for int(s) >= len(a.reg.flows) {
		a.reg.flows = append(a.reg.flows, vpnFlow{})
	}
	a.reg.flows[s] = vpnFlow{Flow: law.Flow{Weight: a.weight(vpn)}, vpn: uint32(vpn), egress: egress.As4()}
	f := &a.reg.flows[s]
	k := &a.dp.Flows[s]
	f.packets, f.reported, f.waited, f.octets, f.octetsReported = k.Packets, k.Packets, k.Waited, k.Octets, k.Octets
	f.sequence = uint64(time.Now().UnixNano()) // larger than any of an earlier life
	f.answered, f.probes = f.sequence, f.sequence
	if f.to = a.reg.addresses[f.egress]; f.to == nil {
		f.to = &net.UDPAddr{IP: egress.AsSlice(), Port: int(a.cfg.Port)}
		a.reg.addresses[f.egress] = f.to
	}
	a.reg.slots[key] = s
	return s, nil
}

// recall finds the slot an earlier agent gave the flow, or the first free one.
func (a *Agent) recall(vpn int, egress netip.Addr) (uint32, error) {
	id := a.cfg.VPNs[vpn].ID
	if s, ok := a.pinned[bpf.PePeer{Vpn: id, Pe: datapath.Word(egress)}]; ok {
		return s, nil
	}
	if a.next >= uint32(a.cfg.Flows) {
		return 0, fmt.Errorf("more than %d VPN flows: raise `flows` and start again after millrace pe --remove", a.cfg.Flows)
	}
	s := a.next
	a.next++
	return s, a.dp.SetPeer(id, egress, s)
}

// remember reads what an earlier agent left in the pinned maps.
func (a *Agent) remember() error {
	a.pinned = map[bpf.PePeer]uint32{}
	var k bpf.PePeer
	var s uint32
	it := a.dp.Peers.Iterate()
	for it.Next(&k, &s) {
		a.pinned[k] = s
		a.next = max(a.next, s+1)
	}
	return it.Err()
}

// setRoutes makes the datapath know a VPN's routes: what is new first, what is gone last.
func (a *Agent) setRoutes(vpn int, routes map[netip.Prefix]netip.Addr) error {
	v := a.cfg.VPNs[vpn]
	var lengths datapath.Lengths
	var errs []error
	for p, pe := range routes {
		s, err := a.slot(vpn, pe)
		if err == nil && a.reg.routes[vpn][p] != pe {
			err = a.dp.SetPrefix(v.ID, p, s)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		lengths.Add(p)
	}
	for _, index := range a.ports[vpn] {
		errs = append(errs, a.dp.SetPort(index, v.ID, lengths))
	}
	for p := range a.reg.routes[vpn] {
		if _, stays := routes[p]; !stays {
			errs = append(errs, a.dp.RemovePrefix(v.ID, p))
		}
	}
	a.reg.routes[vpn] = routes
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("routes of VPN %s: %w", v.Name, err)
	}
	return nil
}

// configured are the routes of a VPN that the configuration names.
func (v VPN) configured() map[netip.Prefix]netip.Addr {
	routes := map[netip.Prefix]netip.Addr{}
	for _, r := range v.Remotes {
		for _, p := range r.Prefixes {
			routes[p.Masked()] = r.PE
		}
	}
	return routes
}
