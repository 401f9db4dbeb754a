package peagent

import (
	"context"
	"net/http"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rpc"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
	"github.com/millrace/millrace/services/peagent/law"
)

// Handler serves VpnService.
func (a *Agent) Handler() (string, http.Handler) {
	return vpnv1connect.NewVpnServiceHandler(api{agent: a}, rpc.Bounded(rpc.MaxRequest))
}

// api serves VpnService for this PE. Calls that concern the network are unimplemented: the control plane serves them.
type api struct {
	vpnv1connect.UnimplementedVpnServiceHandler
	agent *Agent
}

// Flows implements VpnService.
func (s api) Flows(context.Context, *connect.Request[vpnv1.FlowsRequest]) (*connect.Response[vpnv1.FlowsResponse], error) {
	out := &vpnv1.FlowsResponse{Mode: s.agent.mode.String(), Version: s.agent.installedVersion()}
	out.Fairness, out.Jain = s.agent.Fairness()
	for _, v := range s.agent.cfg.VPNs {
		out.Vpns = append(out.Vpns, v.Name)
	}
	for _, f := range s.agent.Flows() {
		out.Flows = append(out.Flows, s.agent.flowMessage(f))
	}
	return connect.NewResponse(out), nil
}

// Weights implements VpnService.
func (s api) Weights(context.Context, *connect.Request[vpnv1.WeightsRequest]) (*connect.Response[vpnv1.WeightsResponse], error) {
	p := s.agent.Weights()
	return connect.NewResponse(&vpnv1.WeightsResponse{
		Weights: s.agent.weightMessages(), Criterion: string(p.Criterion), Policy: p.Name, Version: s.agent.installedVersion(),
	}), nil
}

// SetWeights implements VpnService.
func (s api) SetWeights(_ context.Context, r *connect.Request[vpnv1.SetWeightsRequest]) (*connect.Response[vpnv1.SetWeightsResponse], error) {
	changed := map[string]float64{}
	for _, w := range r.Msg.GetWeights() {
		changed[w.GetVpn()] = w.GetWeight()
	}
	if err := s.agent.SetWeights(changed); err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	return connect.NewResponse(&vpnv1.SetWeightsResponse{Weights: s.agent.weightMessages()}), nil
}

func (a *Agent) weightMessages() (out []*vpnv1.Weight) {
	in := a.Weights()
	for _, v := range a.cfg.VPNs {
		out = append(out, &vpnv1.Weight{Vpn: v.Name, Weight: in.Weights[v.Name]})
	}
	return out
}

// phases are the phases as the API names them.
var phases = map[law.Phase]string{
	law.NoFeedback: "no-feedback", law.SlowStart: "slow-start", law.CongestionAvoidance: "congestion-avoidance",
}

func (a *Agent) flowMessage(f FlowStatus) *vpnv1.Flow {
	return &vpnv1.Flow{
		Vpn: f.VPN, VpnId: f.ID, Ingress: a.cfg.PE.String(), Egress: f.Egress.String(), Phase: phases[f.Phase], Weight: f.Weight,
		Window: f.Window, B: f.B, RttSeconds: f.SRTT, Loss: f.Loss, Rate: f.Rate, Throughput: f.Throughput, Queue: f.Queue,
		Packets: f.Packets, Octets: f.Octets, Drops: f.Drops, LossEvents: f.Events, Timeouts: f.Timeouts,
	}
}
