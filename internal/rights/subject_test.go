package rights

import (
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/proto/gen/millrace/event/v1/eventv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	rightsv1 "github.com/millrace/millrace/proto/gen/millrace/rights/v1"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

// TestWhole: one condition at a time is not met.
func TestWhole(t *testing.T) {
	some := limited(Grant{Viewer, edges})
	reads := Call{API: "push", Needs: Viewer}
	for name, tt := range map[string]struct {
		who    Caller
		change func(*Call)
		want   bool
	}{
		"all are met":                 {some, func(*Call) {}, true},
		"the caller has no limits":    {limited(Grant{Role: Viewer}), func(*Call) {}, false},
		"it is a page":                {some, func(c *Call) { c.API = "" }, false},
		"it changes something":        {some, func(c *Call) { c.Changes = true }, false},
		"it needs no login":           {some, func(c *Call) { c.Needs = Nobody }, false},
		"it is about the caller":      {some, func(c *Call) { c.Subject = &rightsv1.Subject{Own: true} }, false},
		"its answer is filtered":      {some, func(c *Call) { c.Subject = &rightsv1.Subject{Lists: []*rightsv1.Listed{{List: "l"}}} }, false},
		"its request names something": {some, func(c *Call) { c.Subject = &rightsv1.Subject{Routers: []string{"router"}} }, true},
	} {
		call := reads
		tt.change(&call)
		if got := Whole(tt.who, call); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestPathsThatFitNoMessage: what a .proto file declares wrongly is about everything, never about nothing.
func TestPathsThatFitNoMessage(t *testing.T) {
	m := &vpnv1.SetWeightsRequest{Weights: []*vpnv1.Weight{{Vpn: "blue", Weight: 2}}}
	for path, want := range map[string][]string{
		"weights.vpn":    {"blue"},
		"weights":        {""}, // ends at a message
		"weights.weight": {""}, // ends at a number
		"weights.vpn.x":  {""}, // goes on behind a text
		"none":           {""},
	} {
		if got := About(Call{Subject: &rightsv1.Subject{Vpns: []string{path}}}, m).VPNs; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := About(Call{Subject: &rightsv1.Subject{Routers: []string{"*"}, Vpns: []string{"vpn"}}}, nil); len(got.Routers) != 1 || len(got.VPNs) != 0 {
		t.Errorf("no request: %+v", got)
	}
}

// TestFilterPassesOver what the answer does not have as a list, and filters the list behind it.
func TestFilterPassesOver(t *testing.T) {
	who := limited(Grant{Viewer, edges})
	flows := &rightsv1.Listed{List: "flows", Vpns: []string{"vpn"}}
	for name, before := range map[string]string{"none of this name": "none", "no list": "mode", "an empty list": "vpns"} {
		call := Call{Needs: Viewer, Subject: &rightsv1.Subject{Lists: []*rightsv1.Listed{{List: before, Vpns: []string{"."}}, flows}}}
		answer := &vpnv1.FlowsResponse{Mode: "edt", Flows: []*vpnv1.Flow{{Vpn: "red"}}}
		Filter(who, call, answer)
		if len(answer.GetFlows()) != 0 || answer.GetMode() != "edt" {
			t.Errorf("%s: %v", name, answer)
		}
	}
	call := Of(vpnv1connect.VpnServiceFlowsProcedure)
	Filter(who, call, nil) // a call that failed
	Filter(limited(Grant{Role: Viewer}), call, nil)
}

func TestWhatIsOutOfScopeIsNamed(t *testing.T) {
	who := limited(Grant{Operator, edges})
	for name, want := range map[string]string{"core-1": "is about router core-1;", "": "is about every router;"} {
		if no := Within(who, Call{Procedure: "/p.S/M", Needs: Operator}, Things{Routers: []string{name}}); no == nil || !strings.Contains(no.Error(), want) {
			t.Errorf("%q: %v, want %s", name, no, want)
		}
	}
}

func TestScopesAtTheirBounds(t *testing.T) {
	ok := Scope{Routers: slices.Repeat([]string{strings.Repeat("x", maxPattern)}, maxPatterns-1), VPNs: []string{"a"}}
	if err := ok.Check(); err != nil {
		t.Error(err)
	}
	for _, s := range []Scope{{Routers: []string{"a"}}, {VPNs: []string{"a"}}, {Policies: []string{"a"}}, {Routers: []string{"a"}, Policies: []string{"a"}}, {Routers: []string{"a"}, VPNs: []string{"a"}}} {
		if s.All() {
			t.Errorf("%v is everything", s)
		}
	}
}

func TestCallsOfAService(t *testing.T) {
	for procedure, streams := range map[string]bool{
		pushv1connect.ChangeServiceListProcedure: false, flowv1connect.FlowCollectorServiceImportProcedure: true, eventv1connect.EventServiceWatchProcedure: true,
	} {
		if c := Of(procedure); c.API == "" || c.Procedure != procedure || c.Streams != streams {
			t.Errorf("%+v", c)
		}
	}
}
