package processes

import (
	"fmt"
	"net"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// checkPlanned requests a change set as an operator does. Now there is a plan,
// with the pair's rule in it, and only the router is missing.
func (p *plane) checkPlanned(t *testing.T, pair string) {
	t.Helper()
	r, err := p.changes.Create(t.Context(), connect.NewRequest(&pushv1.CreateRequest{Policy: "hntes-two-queue", Author: "operator"}))
	if err != nil {
		t.Fatal(err)
	}
	got := r.Msg.GetChange()
	router := net.JoinHostPort(p.host, deadPort)
	refused := fmt.Sprintf("no answer: connect to WR at %s: gNMI Capabilities of WR: rpc error: code = Unavailable desc = connection error: "+
		"desc = \"transport: Error while dialing: dial tcp %s: connect: connection refused\"", router, router)
	last := got.GetHistory()[len(got.GetHistory())-1]
	if want := "nothing was sent; WR: " + refused; got.GetState() != pushv1.State_STATE_FAILED || last.GetNote() != want {
		t.Errorf("got %s because %q, want failed because %q", got.GetState(), last.GetNote(), want)
	}
	if len(got.GetDevices()) != 1 || len(got.GetDevices()[0].GetPlan().GetLsps()) != 1 {
		t.Fatalf("got %v, want one router's part with one LSP", got)
	}
	part := got.GetDevices()[0]
	want := []*policyv1.RedirectRule{{
		Filter: "ingress", Pair: pair, Src: "10.1.0.0/24", Dst: "10.2.0.0/24", Queue: "alpha", Lsp: part.GetPlan().GetLsps()[0].GetName(),
	}}
	if d := cmp.Diff(part.GetPlan().GetRules(), want, protocmp.Transform(), protocmp.IgnoreFields(&policyv1.RedirectRule{}, "sequence")); d != "" || part.GetDevice() != "WR" || part.GetError() != refused {
		t.Errorf("%s failed with %q, rules (-got +want):\n%s", part.GetDevice(), part.GetError(), d)
	}
}
