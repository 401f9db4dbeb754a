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
	vpn    uint32       // index into Configuration.VPNs
	egress [4]byte      // the far PE
	to     *net.UDPAddr // nil where the index is not in use

	sequence      uint64 // of the last request
	answered      uint64 // sequence of the last answer
	probeSequence uint64 // of the last probe (mode htb)
	lastRequest   uint64 // departure of the last request, ns
	oldestRequest uint64 // departure of the oldest request without an answer, ns; 0: none

	// Counters of the datapath at certain times.
	packetsAtRequest  uint64
	packetsAtFeedback uint64
	queuedAtFeedback  uint64
	octetsAtFeedback  uint64
	octetsAtSample    uint64

	throughput    float64 // of the last second, bit/s
	classRate     float64 // rate of the HTB class, bytes per second (mode htb)
	warned        bool    // of the silent peer
	windowLimited bool    // as of the last feedback
}

// registry has the VPN flows by index, and the prefixes that lead to them.
type registry struct {
	flows   []vpnFlow
	indices map[flowKey]uint32
	routes  []map[netip.Prefix]netip.Addr // per VPN: prefix to PE
	// addresses are those of the far PEs, shared by their flows.
	addresses map[[4]byte]*net.UDPAddr
}

type flowKey struct {
	vpn    uint32
	egress [4]byte
}

// pe is the far PE of the flow.
func (f *vpnFlow) pe() netip.Addr { return netip.AddrFrom4(f.egress) }

func newRegistry(vpns, flows int) registry {
	r := registry{
		flows: make([]vpnFlow, 0, flows), indices: map[flowKey]uint32{},
		addresses: map[[4]byte]*net.UDPAddr{}, routes: make([]map[netip.Prefix]netip.Addr, vpns),
	}
	for i := range r.routes {
		r.routes[i] = map[netip.Prefix]netip.Addr{}
	}
	return r
}

// flowIndex finds or makes the flow of a VPN to a PE. An index is never given to another flow while the agent runs.
func (a *Agent) flowIndex(vpn int, egress netip.Addr) (uint32, error) {
	key := flowKey{uint32(vpn), egress.As4()}
	if i, ok := a.reg.indices[key]; ok {
		return i, nil
	}
	i, err := a.allocateIndex(vpn, egress)
	if err != nil {
		return 0, err
	}
	for int(i) >= len(a.reg.flows) {
		a.reg.flows = append(a.reg.flows, vpnFlow{})
	}
	a.reg.flows[i] = vpnFlow{Flow: law.Flow{Weight: a.weight(vpn)}, vpn: uint32(vpn), egress: egress.As4()}
	f := &a.reg.flows[i]
	k := &a.dp.Flows[i]
	f.packetsAtRequest, f.packetsAtFeedback, f.queuedAtFeedback = k.Packets, k.Packets, k.Queued
	f.octetsAtFeedback, f.octetsAtSample = k.Octets, k.Octets
	f.sequence = uint64(time.Now().UnixNano()) // larger than any of an earlier agent
	f.answered, f.probeSequence = f.sequence, f.sequence
	if f.to = a.reg.addresses[f.egress]; f.to == nil {
		f.to = &net.UDPAddr{IP: egress.AsSlice(), Port: int(a.cfg.Port)}
		a.reg.addresses[f.egress] = f.to
	}
	a.reg.indices[key] = i
	return i, nil
}

// allocateIndex returns the index that an earlier agent gave the flow, or the first free one.
func (a *Agent) allocateIndex(vpn int, egress netip.Addr) (uint32, error) {
	id := a.cfg.VPNs[vpn].ID
	if i, ok := a.pinned[bpf.PePeer{Vpn: id, Pe: datapath.Word(egress)}]; ok {
		return i, nil
	}
	if a.nextIndex >= uint32(a.cfg.Flows) {
		return 0, fmt.Errorf("more than %d VPN flows: raise `flows` and start again after millrace pe --remove", a.cfg.Flows)
	}
	i := a.nextIndex
	a.nextIndex++
	return i, a.dp.SetPeer(id, egress, i)
}

// readPinned reads the flow indices of an earlier agent from the pinned maps.
func (a *Agent) readPinned() error {
	a.pinned = map[bpf.PePeer]uint32{}
	var k bpf.PePeer
	var i uint32
	it := a.dp.Peers.Iterate()
	for it.Next(&k, &i) {
		a.pinned[k] = i
		a.nextIndex = max(a.nextIndex, i+1)
	}
	return it.Err()
}

// setRoutes writes a VPN's routes to the datapath: new ones first, and withdrawn ones are removed last.
func (a *Agent) setRoutes(vpn int, routes map[netip.Prefix]netip.Addr) error {
	v := a.cfg.VPNs[vpn]
	var lengths datapath.Lengths
	var errs []error
	for p, pe := range routes {
		i, err := a.flowIndex(vpn, pe)
		if err == nil && a.reg.routes[vpn][p] != pe {
			err = a.dp.SetPrefix(v.ID, p, i)
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

// configured returns the static routes of the configuration.
func (v VPN) configured() map[netip.Prefix]netip.Addr {
	routes := map[netip.Prefix]netip.Addr{}
	for _, r := range v.Remotes {
		for _, p := range r.Prefixes {
			routes[p.Masked()] = r.PE
		}
	}
	return routes
}
