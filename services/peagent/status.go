package peagent

import (
	"net/netip"

	"github.com/millrace/millrace/internal/vpnshare"
	"github.com/millrace/millrace/services/peagent/datapath"
	"github.com/millrace/millrace/services/peagent/law"
)

// FlowStatus is a VPN flow as operators see it. Rates are bit/s.
type FlowStatus struct {
	VPN                           string
	ID                            uint32
	Egress                        netip.Addr
	Phase                         law.Phase
	Weight, Window, B, RTT, Loss  float64
	Rate, Throughput              float64
	Queue, Packets, Octets, Drops uint64
	Events, Timeouts              uint32
}

// Flows lists the VPN flows that enter here.
func (a *Agent) Flows() []FlowStatus {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := datapath.Now()
	var out []FlowStatus
	for s := range a.reg.flows {
		f := &a.reg.flows[s]
		if f.to == nil {
			continue
		}
		k := &a.dp.Flows[s]
		v := a.cfg.VPNs[f.vpn]
		status := FlowStatus{
			VPN: v.Name, ID: v.ID, Egress: f.pe(), Phase: f.Phase, Weight: f.Weight, Window: f.Window, B: f.B, RTT: f.RTT,
			Rate: f.Rate() * float64(a.cfg.PacketSize) * 8, Throughput: f.bits,
			Packets: k.Packets, Octets: k.Octets, Drops: k.Drops, Events: f.Events, Timeouts: f.Timeouts,
		}
		if f.Phase != law.Unanswered {
			status.Loss = f.Loss(&a.law, a.common)
		}
		if next := k.Next; next > now {
			status.Queue = uint64(float64(next-now) / 1e9 * status.Rate / 8)
		}
		out = append(out, status)
	}
	return out
}

// Fairness is F and Jain's index of the active flows' last second.
func (a *Agent) Fairness() (f, jain float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fairness()
}

func (a *Agent) fairness() (f, jain float64) {
	var x, r []float64
	for i := range a.reg.flows {
		if flow := &a.reg.flows[i]; flow.bits > 0 {
			x, r = append(x, flow.bits), append(r, flow.Weight)
		}
	}
	return vpnshare.Fairness(x, r), vpnshare.Jain(x)
}

// sample takes each flow's throughput since the last sample.
func (a *Agent) sample(now uint64) {
	elapsed := float64(now-a.sampled) / 1e9
	a.sampled = now
	for i := range a.reg.flows {
		f := &a.reg.flows[i]
		octets := a.dp.Flows[i].Octets
		f.bits, f.octets = float64(octets-f.octets)*8/elapsed, octets
	}
	x, j := a.fairness()
	a.metrics.fairness.Set(x)
	a.metrics.jain.Set(j)
}
