package peagent

import (
	"net/netip"

	"github.com/millrace/millrace/internal/vpnshare"
	"github.com/millrace/millrace/services/peagent/datapath"
	"github.com/millrace/millrace/services/peagent/law"
)

// FlowStatus is the state of a VPN flow for operators. Rates are in bit/s.
type FlowStatus struct {
	VPN                           string
	ID                            uint32
	Egress                        netip.Addr
	Phase                         law.Phase
	Weight, Window, B, SRTT, Loss float64
	Rate, Throughput              float64
	Queue, Packets, Octets, Drops uint64
	Events, Timeouts              uint32
}

// Flows lists the VPN flows that enter here.
func (a *Agent) Flows() []FlowStatus {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dp == nil { // stopped
		return nil
	}
	now := datapath.Now()
	var out []FlowStatus
	for i := range a.reg.flows {
		f := &a.reg.flows[i]
		if f.to == nil {
			continue
		}
		k := &a.dp.Flows[i]
		v := a.cfg.VPNs[f.vpn]
		status := FlowStatus{
			VPN: v.Name, ID: v.ID, Egress: f.pe(), Phase: f.Phase, Weight: f.Weight, Window: f.Window, B: f.B, SRTT: f.SRTT,
			Rate: f.Rate() * float64(a.cfg.PacketSize) * 8, Throughput: f.throughput,
			Packets: k.Packets, Octets: k.Octets, Drops: k.Drops, Events: f.LossEvents, Timeouts: f.Timeouts,
		}
		if f.Phase != law.NoFeedback {
			status.Loss = f.Loss(&a.law, a.domain.LossInterval)
		}
		if edt := k.NextEdt; edt > now {
			status.Queue = uint64(float64(edt-now) / 1e9 * status.Rate / 8)
		}
		out = append(out, status)
	}
	return out
}

// Fairness returns F and Jain's index over the active flows, both of the last second.
func (a *Agent) Fairness() (f, jain float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fairness()
}

func (a *Agent) fairness() (f, jain float64) {
	var x, r []float64
	for i := range a.reg.flows {
		if flow := &a.reg.flows[i]; flow.throughput > 0 {
			x, r = append(x, flow.throughput), append(r, flow.Weight)
		}
	}
	return vpnshare.Fairness(x, r), vpnshare.Jain(x)
}

// sample measures each flow's throughput since the last sample.
func (a *Agent) sample(now uint64) {
	elapsed := float64(now-a.sampled) / 1e9
	a.sampled = now
	for i := range a.reg.flows {
		f := &a.reg.flows[i]
		octets := a.dp.Flows[i].Octets
		f.throughput, f.octetsAtSample = float64(octets-f.octetsAtSample)*8/elapsed, octets
	}
	x, j := a.fairness()
	a.metrics.fairness.Set(x)
	a.metrics.jain.Set(j)
}
