package peagent

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/millrace/millrace/services/peagent/bpf"
	"github.com/millrace/millrace/services/peagent/datapath"
	"github.com/millrace/millrace/services/peagent/law"
	"github.com/millrace/millrace/services/peagent/prefixes"
	"github.com/millrace/millrace/services/peagent/sequence"
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
	classRate     float64 // rate of the HTB class, bytes per second (mode htb), at first that of an earlier agent
	warned        bool    // of the silent peer
	windowLimited bool    // as of the last feedback
}

// registry has the VPN flows by index, and the prefixes that lead to them.
type registry struct {
	flows   []vpnFlow
	indices map[flowKey]uint32
	routes  []map[netip.Prefix]netip.Addr // per VPN what the datapath has: prefix to PE
	wanted  []map[netip.Prefix]netip.Addr // per VPN what there was last time
	// incomplete: something of the VPN's routes could not be written.
	incomplete []bool
	// free indices were another flow's; released: they were looked for in this change of routes.
	free     []uint32
	released bool
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
		wanted: make([]map[netip.Prefix]netip.Addr, vpns), incomplete: make([]bool, vpns),
	}
	for i := range r.routes {
		r.routes[i] = map[netip.Prefix]netip.Addr{}
	}
	return r
}

// flowIndex finds or makes the flow of a VPN to a PE. An index is given to another flow only
// where there is none left and no prefix leads to its own.
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
	f.classRate = datapath.Rate(a.dp.Rates[i].Cost)
	fb, _ := a.dp.Feedback(i)
	f.sequence = firstSequence(time.Now(), fb)
	f.answered, f.probeSequence = f.sequence, f.sequence
	if f.to = a.reg.addresses[f.egress]; f.to == nil {
		f.to = &net.UDPAddr{IP: egress.AsSlice(), Port: int(a.cfg.Port)}
		a.reg.addresses[f.egress] = f.to
	}
	a.reg.indices[key] = i
	return i, nil
}

// inFlight is more than the requests of a flow that an earlier agent can have sent without an answer.
const inFlight = 1 << 20

// firstSequence is higher than any of an earlier agent, also where the clock was set back since: the datapath refuses
// answers to lower ones than the last that it took.
func firstSequence(now time.Time, fb bpf.PeFeedback) uint64 {
	return sequence.After(now, fb.Begin+inFlight, fb.Probe+inFlight)
}

// allocateIndex returns the index that an earlier agent gave the flow, or the first free one.
func (a *Agent) allocateIndex(vpn int, egress netip.Addr) (uint32, error) {
	id := a.cfg.VPNs[vpn].ID
	if i, ok := a.pinned[bpf.PePeer{Vpn: id, Pe: datapath.Word(egress)}]; ok {
		return i, nil
	}
	i, err := a.freeIndex()
	if err != nil {
		return 0, err
	}
	return i, a.dp.SetPeer(id, egress, i)
}

// readPinned reads the flow indices of an earlier agent from the pinned maps. Indices in between that no flow has were
// freed by an earlier agent, and are free again.
func (a *Agent) readPinned() error {
	a.pinned = map[bpf.PePeer]uint32{}
	used := map[uint32]bool{}
	var k bpf.PePeer
	var i uint32
	it := a.dp.Peers.Iterate()
	for it.Next(&k, &i) {
		a.pinned[k], used[i] = i, true
		a.nextIndex = max(a.nextIndex, i+1)
	}
	for i := range a.nextIndex {
		if !used[i] {
			a.reg.free = append(a.reg.free, i)
		}
	}
	return it.Err()
}

// setRoutes writes those of a VPN's routes that fit its share to the datapath: new ones first, and withdrawn ones are
// removed last. The registry keeps what the datapath has, so that what failed is tried again.
func (a *Agent) setRoutes(vpn int, wanted map[netip.Prefix]netip.Addr) error {
	a.reg.released = false
	v := a.cfg.VPNs[vpn]
	had := a.reg.routes[vpn]
	fits, left := prefixes.Fit(v.candidates(wanted, had), a.shares[vpn])
	has := map[netip.Prefix]netip.Addr{}
	var lengths datapath.Lengths
	errs := []error{a.leftOut(vpn, left)}
	for _, r := range fits {
		p := r.Prefix
		i, err := a.flowIndex(vpn, wanted[p])
		if err == nil && had[p] != wanted[p] {
			err = a.dp.SetPrefix(v.ID, p, i)
		}
		switch {
		case err == nil:
			has[p] = wanted[p]
			lengths.Add(p)
		case r.Installed: // towards its former PE
			has[p] = had[p]
			lengths.Add(p)
		}
		errs = append(errs, err)
	}
	for _, index := range a.ports[vpn] {
		errs = append(errs, a.dp.SetPort(index, v.ID, lengths))
	}
	for p, pe := range had {
		if _, stays := has[p]; stays {
			continue
		}
		if err := a.dp.RemovePrefix(v.ID, p); err != nil {
			errs = append(errs, err)
			has[p] = pe
		}
	}
	err := several(errs)
	a.reg.routes[vpn], a.reg.wanted[vpn], a.reg.incomplete[vpn] = has, wanted, err != nil
	if err != nil {
		return fmt.Errorf("routes of VPN %s: %w", v.Name, err)
	}
	return nil
}

// maxTold is how many of a VPN's errors one line of the log tells: a table that is full is full for all its routes.
const maxTold = 3

// several joins errors, and only counts those that are too many to read.
func several(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if more := len(errs) - maxTold; more > 0 {
		errs = append(errs[:maxTold], fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}

// leftOut tells of routes without room; it is an error where an operator configured one.
func (a *Agent) leftOut(vpn int, left []prefixes.Route) error {
	v := a.cfg.VPNs[vpn]
	a.metrics.leftOut.WithLabelValues(v.Name).Set(float64(len(left)))
	if len(left) == 0 {
		return nil
	}
	a.log.Warn("prefixes without room in the VPN's share of the tables; their packets are not shaped",
		"vpn", v.Name, "prefixes", len(left), "first", left[0].Prefix.String())
	if left[0].Configured {
		return fmt.Errorf("no room for %d prefixes, configured ones among them: give the VPN more with `prefixes`, or aggregate", len(left))
	}
	return nil
}

// candidates are a VPN's routes with what decides which of them fit.
func (v VPN) candidates(wanted, had map[netip.Prefix]netip.Addr) []prefixes.Route {
	configured := v.configured()
	out := make([]prefixes.Route, 0, len(wanted))
	for p := range wanted {
		_, fixed := configured[p]
		_, installed := had[p]
		out = append(out, prefixes.Route{Prefix: p, Configured: fixed, Installed: installed})
	}
	return out
}

// shares divides the tables of prefixes among the VPNs.
func (c Configuration) shares() []prefixes.Limits {
	v4, v6 := make([]prefixes.Demand, len(c.VPNs)), make([]prefixes.Demand, len(c.VPNs))
	for i, v := range c.VPNs {
		v4[i] = prefixes.Demand{Limit: v.Prefixes, Learns: v.VRF != ""}
		v6[i] = prefixes.Demand{Limit: v.Prefixes / 4, Learns: v.VRF != ""}
		for p := range v.configured() {
			if p.Addr().Is4() {
				v4[i].Configured++
			} else {
				v6[i].Configured++
			}
		}
	}
	of4, of6 := prefixes.Shares(c.Prefixes, v4), prefixes.Shares(datapath.Prefixes6(c.Prefixes), v6)
	out := make([]prefixes.Limits, len(c.VPNs))
	for i := range out {
		out[i] = prefixes.Limits{IPv4: of4[i], IPv6: of6[i], Lengths: datapath.MaxLengths}
	}
	return out
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
