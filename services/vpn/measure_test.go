package vpn

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/millrace/millrace/internal/bus"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// TestSamples: flows beside their fair shares on the bus, in the API and as metrics, and nothing of what cannot be.
func TestSamples(t *testing.T) {
	w := newWorld(t)
	got := make(chan *vpnv1.SampleBatch, 100)
	err := w.deps.Bus.Subscribe(t.Context(), bus.TopicVPN, "test", func(_ context.Context, m bus.Message) error {
		b := &vpnv1.SampleBatch{}
		defer func() {
			select {
			case got <- b:
			default:
			}
		}()
		return proto.Unmarshal(m.Value, b)
	})
	if err != nil {
		t.Fatal(err)
	}
	// Of two flows that share a link red has 10 of 40 Mbit/s at weight 1, blue 30 at weight 3; the other way blue is
	// alone and uncontrolled.
	w.paths.rate = map[string]uint64{"10.255.0.1 10.255.0.2": 100e6, "10.255.0.2 10.255.0.1": 100e6}
	w.agents[0].flows[1].Weight = 3
	alone := flow("blue", 2, 1, 1, 5e6)
	alone.Phase = "no-feedback"
	nonsense := []*vpnv1.Flow{
		flow("", 2, 1, 1, 1), flow("a", 2, 2, 1, 1), flow("b", 2, 1, 0, 1), flow("c", 2, 1, 1, math.NaN()), flow("d", 2, 1, 1, -1), flow("e", 2, 1, 1, math.Inf(1)),
		flow("blue", 2, 1, 1, 7), flow("red", 1, 2, 1, 7),
	}
	w.agents[1].flows = append([]*vpnv1.Flow{alone}, nonsense...)
	s := w.start(nil)
	want := &vpnv1.Round{Fairness: 1, Jain: 45 * 45 / (3.0 * (100 + 900 + 25)), Active: 3, Throughput: 45e6}
	var b *vpnv1.SampleBatch
	until(t, "a round of both PEs, measured apart", func() (bool, any) {
		b = <-got
		return len(b.GetFlows()) == 3 && math.Abs(b.GetRound().GetFairness()-1) < 1e-9, b
	})
	if d := cmp.Diff(b.GetRound(), want, protocmp.Transform(), cmpopts.EquateApprox(0, 1e-9)); d != "" {
		t.Errorf("round (-got +want):\n%s", d)
	}
	var lines []string
	for _, f := range b.GetFlows() {
		lines = append(lines, strings.Join([]string{f.GetVpn(), f.GetIngressPe(), f.GetEgressPe(), rateText(f.GetThroughput()), rateText(f.GetFairShare())}, " "))
	}
	if d := cmp.Diff(lines, []string{"blue pe1 pe2 30 30", "blue pe2 pe1 5 5", "red pe1 pe2 10 10"}); d != "" {
		t.Errorf("flows (-got +want):\n%s", d)
	}
	r, err := s.Flows(t.Context(), connect.NewRequest(&vpnv1.FlowsRequest{}))
	if err != nil || len(r.Msg.GetFlows()) != 3 || len(r.Msg.GetPes()) != 2 || len(r.Msg.GetVpns()) != 2 {
		t.Errorf("%v, %v", r, err)
	}
	r, err = s.Flows(t.Context(), connect.NewRequest(&vpnv1.FlowsRequest{Vpn: "blue", Limit: 1}))
	if err != nil || len(r.Msg.GetFlows()) != 1 || r.Msg.GetFlows()[0].GetIngressPe() != "pe1" || r.Msg.GetTotal() != 2 || r.Msg.GetUncontrolled() != 1 {
		t.Errorf("the one of blue that sends most: %v, %v", r, err)
	}
	expect := `
# HELP millrace_services_vpn_flow_controlled 0 while the far PE does not answer and the VPN flow is not controlled.
# TYPE millrace_services_vpn_flow_controlled gauge
millrace_services_vpn_flow_controlled{egress="10.255.0.1",ingress="10.255.0.2",vpn="blue"} 0
millrace_services_vpn_flow_controlled{egress="10.255.0.2",ingress="10.255.0.1",vpn="blue"} 1
millrace_services_vpn_flow_controlled{egress="10.255.0.2",ingress="10.255.0.1",vpn="red"} 1
`
	if err := testutil.GatherAndCompare(s.metrics, strings.NewReader(expect), prefix+"flow_controlled"); err != nil {
		t.Error(err)
	}
	for reason, most := range map[string]float64{"no_vpn": 1, "address": 1, "weight": 1, "rate": 3, "duplicate": 1, "two_addresses": 1} {
		visits := testutil.ToFloat64(s.comp.metrics.invalid.WithLabelValues("pe2", "no_vpn"))
		if n := testutil.ToFloat64(s.comp.metrics.invalid.WithLabelValues("pe2", reason)); visits == 0 || n < most {
			t.Errorf("%s was counted %g times in %g visits", reason, n, visits)
		}
	}
	w.tells("vpn-pe-invalid", "pe2 reports invalid flows")
}

// TestWhatFlowsShare: by the topology, else by the policy's links one way, else by where they enter.
func TestWhatFlowsShare(t *testing.T) {
	w := newWorld(t)
	for _, a := range w.agents {
		a.down(t) // only the arithmetic is looked at
	}
	w.policy("links.yaml", "policy: links\nlinks: [{name: l1, rate: 1Mbit/s}, {name: l2, rate: 1Mbit/s}]\nvpns: [{name: red, links: [l1]}, {name: blue, links: [l1, l2]}]\n")
	s := w.start(w.following("links"))
	s.comp.routes.mu.Lock()
	s.comp.routes.crosses = map[pair][]int{{"10.255.0.7", "10.255.0.8"}: {4, 5}}
	s.comp.routes.mu.Unlock()
	links := s.comp.links()
	for _, c := range []struct {
		name string
		a, b *vpnv1.Flow
		want bool
	}{
		{"VPNs on a link of the policy, entering at different PEs", flow("red", 1, 2, 1, 1), flow("blue", 3, 4, 1, 1), true},
		{"the way back of one", flow("red", 1, 2, 1, 1), flow("blue", 4, 3, 1, 1), false},
		{"VPNs the policy does not place, of one PE", flow("a", 1, 2, 1, 1), flow("b", 1, 4, 1, 1), true},
		{"VPNs the policy does not place, of different PEs", flow("a", 1, 2, 1, 1), flow("b", 3, 2, 1, 1), false},
		{"the topology goes before the policy", flow("red", 7, 8, 1, 1), flow("blue", 1, 2, 1, 1), false},
		{"and places those the policy does not name", flow("red", 7, 8, 1, 1), flow("a", 7, 8, 1, 1), true},
	} {
		shared := slices.ContainsFunc(links(c.a), func(l int) bool { return slices.Contains(links(c.b), l) })
		if shared != c.want {
			t.Errorf("%s: %v and %v", c.name, links(c.a), links(c.b))
		}
	}
}

func rateText(bits float64) string { return fmt.Sprintf("%.4g", bits/1e6) }
