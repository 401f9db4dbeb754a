package peagent

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

func TestAPI(t *testing.T) {
	n := newNetwork(t, 2)
	policy := n.Write("weights.yaml", "policy: p\nvpns: [{name: vpn1, weight: 3}]\n")
	a := n.start(1, func(c *Configuration) { c.Weights = policy })
	mux := http.NewServeMux()
	mux.Handle(a.Handler())
	server := httptest.NewServer(mux)
	defer server.Close()
	c := vpnv1connect.NewVpnServiceClient(server.Client(), server.URL)

	flows, err := c.Flows(t.Context(), connect.NewRequest(&vpnv1.FlowsRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	if got := flows.Msg.GetFlows(); len(got) != 2 || got[0].GetWeight() != 3 || got[0].GetEgress() != "10.255.0.2" || got[1].GetPhase() != "no-feedback" {
		t.Errorf("%v", got)
	}
	set := func(vpn string, w float64) error {
		_, err := c.SetWeights(t.Context(), connect.NewRequest(&vpnv1.SetWeightsRequest{Weights: []*vpnv1.Weight{{Vpn: vpn, Weight: w}}}))
		return err
	}
	for _, bad := range []struct {
		vpn    string
		weight float64
	}{{"vpn9", 1}, {"vpn1", 0}, {"vpn1", -1}, {"vpn1", 1e9}} {
		if err := set(bad.vpn, bad.weight); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("weight %g of %s: %v", bad.weight, bad.vpn, err)
		}
	}
	if err := set("vpn2", 5); err != nil {
		t.Fatal(err)
	}
	if w := a.Weights().Weights; w["vpn1"] != 3 || w["vpn2"] != 5 {
		t.Errorf("%v", w)
	}
	if err := os.WriteFile(policy, []byte("policy: p\nvpns: [{name: vpn1, weight: 7}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(policy, later, later); err != nil {
		t.Fatal(err)
	}
	a.reload()
	if w := a.Weights().Weights; w["vpn1"] != 7 || w["vpn2"] != 1 {
		t.Errorf("after the file changed: %v", w)
	}
	r := prometheus.NewRegistry()
	r.MustRegister(newCollector(a))
	want := `
# HELP millrace_services_peagent_flow_weight Weight of a VPN flow.
# TYPE millrace_services_peagent_flow_weight gauge
millrace_services_peagent_flow_weight{egress="10.255.0.2",vpn="vpn1"} 7
millrace_services_peagent_flow_weight{egress="10.255.0.2",vpn="vpn2"} 1
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), prefix+"flow_weight"); err != nil {
		t.Error(err)
	}
}
