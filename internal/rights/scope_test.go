package rights

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	rightsv1 "github.com/millrace/millrace/proto/gen/millrace/rights/v1"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

var edges = Scope{Routers: []string{"edge-*"}, Policies: []string{"te"}}

func limited(grants ...Grant) Caller {
	role, limits := GrantsOf(grants)
	return Caller{Name: "ann", Role: role, Limits: Limits{Grants: limits}}
}

func TestWithin(t *testing.T) {
	narrowed := func(who Caller, by Scope) Caller { who.Limits.Scope = by; return who }
	for name, tt := range map[string]struct {
		who   Caller
		needs Role
		about Things
		want  bool
	}{
		"no limits":             {limited(Grant{Role: Operator}), Operator, Things{Routers: []string{"core-1", ""}}, true},
		"a router by a pattern": {limited(Grant{Operator, edges}), Operator, Things{Routers: []string{"edge-1"}}, true},
		"another router":        {limited(Grant{Operator, edges}), Operator, Things{Routers: []string{"core-1"}}, false},
		"one of each":           {limited(Grant{Operator, edges}), Operator, Things{Routers: []string{"edge-1", "core-1"}}, false},
		"every router":          {limited(Grant{Operator, edges}), Operator, Things{Routers: []string{""}}, false},
		"every router, by *":    {limited(Grant{Operator, Scope{Routers: []string{"*"}}}), Operator, Things{Routers: []string{""}}, true},
		"every router, by a pattern of all names":  {limited(Grant{Operator, Scope{Routers: []string{"**"}}}), Operator, Things{Routers: []string{""}}, false},
		"its policy and its router":                {limited(Grant{Operator, edges}), Operator, Things{Routers: []string{"edge-1"}, Policies: []string{"te"}}, true},
		"another policy on its router":             {limited(Grant{Operator, edges}), Operator, Things{Routers: []string{"edge-1"}, Policies: []string{"lbe"}}, false},
		"a kind that the scope does not name":      {limited(Grant{Operator, edges}), Operator, Things{VPNs: []string{"blue"}}, false},
		"a router called like a VPN of the scope":  {limited(Grant{Operator, Scope{VPNs: []string{"edge-1"}}}), Operator, Things{Routers: []string{"edge-1"}}, false},
		"a name that only begins so":               {limited(Grant{Operator, Scope{Routers: []string{"edge"}}}), Operator, Things{Routers: []string{"edge-1"}}, false},
		"? is one character":                       {limited(Grant{Operator, Scope{Routers: []string{"edge-?"}}}), Operator, Things{Routers: []string{"edge-12"}}, false},
		"nothing":                                  {limited(Grant{Operator, edges}), Operator, Things{}, true},
		"each role for its own scope":              {limited(Grant{Approver, edges}, Grant{Role: Viewer}), Approver, Things{Routers: []string{"core-1"}}, false},
		"the lower role elsewhere":                 {limited(Grant{Approver, edges}, Grant{Role: Operator}), Operator, Things{Routers: []string{"core-1"}}, true},
		"the higher role is for the lower, too":    {limited(Grant{Approver, edges}), Operator, Things{Routers: []string{"edge-1"}}, true},
		"two scopes together":                      {limited(Grant{Approver, edges}, Grant{Approver, Scope{Routers: []string{"core-1"}}}), Approver, Things{Routers: []string{"edge-1", "core-1"}}, true},
		"no scope has both, though one each":       {limited(Grant{Operator, edges}, Grant{Operator, Scope{Routers: []string{"core-*"}, Policies: []string{"lbe"}}}), Operator, Things{Routers: []string{"core-1"}, Policies: []string{"te"}}, false},
		"each router in a scope with the policy":   {limited(Grant{Operator, edges}, Grant{Operator, Scope{Routers: []string{"core-*"}, Policies: []string{"t?"}}}), Operator, Things{Routers: []string{"edge-1", "core-1"}, Policies: []string{"te"}}, true},
		"the second router is in another scope":    {limited(Grant{Operator, edges}, Grant{Operator, Scope{Routers: []string{"core-*"}, Policies: []string{"lbe"}}}), Operator, Things{Routers: []string{"edge-1", "core-1"}, Policies: []string{"te"}}, false},
		"the second policy is in another scope":    {limited(Grant{Operator, edges}, Grant{Operator, Scope{Policies: []string{"lbe"}}}), Operator, Things{Routers: []string{"edge-1"}, Policies: []string{"te", "lbe"}}, false},
		"three kinds, of which each two are there": {limited(Grant{Operator, edges}, Grant{Operator, Scope{Routers: []string{"edge-*"}, VPNs: []string{"blue"}}}, Grant{Operator, Scope{VPNs: []string{"blue"}, Policies: []string{"te"}}}), Operator, Things{[]string{"edge-1"}, []string{"blue"}, []string{"te"}}, false},
		"one group has the role everywhere":        {limited(Grant{Approver, edges}, Grant{Role: Approver}), Approver, Things{Routers: []string{"core-1"}}, true},
		"a token for less":                         {narrowed(limited(Grant{Role: Operator}), edges), Operator, Things{Routers: []string{"core-1"}}, false},
		"a token for its own":                      {narrowed(limited(Grant{Role: Operator}), edges), Operator, Things{Routers: []string{"edge-1"}}, true},
		"a token gives nothing that a person lost": {narrowed(limited(Grant{Operator, edges}), Scope{Routers: []string{"*"}}), Operator, Things{Routers: []string{"core-1"}}, false},
		"a token without a scope has the person's": {narrowed(limited(Grant{Operator, edges}), Scope{}), Operator, Things{Routers: []string{"core-1"}}, false},
	} {
		no := Within(tt.who, Call{Procedure: "/p.S/M", Needs: tt.needs}, tt.about)
		if (no == nil) != tt.want || no != nil && (no.Reason != OutOfScope || !strings.Contains(no.Error(), "ann")) {
			t.Errorf("%s: %v, want %v", name, no, tt.want)
		}
	}
}

// A refusal names the thing that is in no scope, or those that are in none together.
func TestARefusalNamesWhatIsOutOfTheScope(t *testing.T) {
	who := limited(Grant{Operator, edges}, Grant{Operator, Scope{Routers: []string{"core-*"}, Policies: []string{"lbe"}}})
	for want, about := range map[string]Things{
		"is about router lab-1; ":                {Routers: []string{"edge-1", "lab-1"}, Policies: []string{"te"}},
		"is about policy x; ":                    {Routers: []string{"edge-1"}, Policies: []string{"x"}},
		"is about every router; ":                {Routers: []string{""}, Policies: []string{"te"}},
		"is about router core-1 and policy te; ": {Routers: []string{"edge-1", "core-1"}, Policies: []string{"te"}},
	} {
		if no := Within(who, Call{Procedure: "/p.S/M", Needs: Operator}, about); no == nil || !strings.Contains(no.Error(), want) {
			t.Errorf("%v, want %q", no, want)
		}
	}
}

// TestALimitOnlyTakesAway compares callers with and without a token's scope, and with one grant more, over random
// grants: less than a person may is never more, and another grant never takes one away.
func TestALimitOnlyTakesAway(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 1))
	patterns, routers := []string{"*", "edge-*", "core-*", "edge-1", "?ore-1"}, []string{"edge-1", "edge-2", "core-1", ""}
	scope := func() (s Scope) {
		for range r.IntN(3) {
			s.Routers = append(s.Routers, patterns[r.IntN(len(patterns))])
		}
		return s
	}
	grant := func() Grant { return Grant{Roles[r.IntN(3)], scope()} }
	may := func(who Caller, call Call, about Things) bool {
		return Decide(who, call) == nil && Within(who, call, about) == nil
	}
	allowed := 0
	for range 20000 {
		grants := []Grant{grant(), grant()}
		call := Call{Procedure: "/p.S/M", API: "p", Needs: Roles[r.IntN(3)], Changes: true, Subject: &rightsv1.Subject{}}
		about := Things{Routers: []string{routers[r.IntN(4)], routers[r.IntN(4)]}}
		without := limited(grants...)
		token := without
		token.Limits.Scope = scope()
		more := limited(append(slices.Clone(grants), grant())...)
		if may(without, call, about) {
			allowed++
			if !may(more, call, about) {
				t.Fatalf("%v may %v of %v; with one grant more, %v, not", grants, call.Needs, about, more.Limits)
			}
		} else if may(token, call, about) {
			t.Fatalf("%v may not %v of %v, and by a token for %v does", grants, call.Needs, about, token.Limits.Scope)
		}
	}
	if allowed == 0 {
		t.Error("nobody may do anything, so nothing was compared")
	}
}

// What changes something, and declares not what it is about, is for nobody with a limit.
func TestUndeclaredChangesAreOutOfEveryScope(t *testing.T) {
	all := Scope{Routers: []string{"*"}, VPNs: []string{"*"}, Policies: []string{"*"}}
	for _, tt := range []struct {
		who  Caller
		call Call
		want Reason
	}{
		{limited(Grant{Operator, all}), Call{Procedure: "/p.S/M", Needs: Operator, Changes: true}, OutOfScope},
		{limited(Grant{Operator, all}), Call{Procedure: "/p.S/M", Needs: Operator, Changes: true, Subject: &rightsv1.Subject{Own: true}}, ""},
		{limited(Grant{Operator, all}), Call{Procedure: "/p.S/M", Needs: Operator}, ""},
		{limited(Grant{Role: Operator}), Call{Procedure: "/p.S/M", Needs: Operator, Changes: true}, ""},
		{Caller{Name: "ann", Role: Operator, Limits: Limits{Scope: all}}, Call{Procedure: "/p.S/M", Needs: Operator, Changes: true}, OutOfScope},
		{limited(Grant{Operator, all}), Call{Procedure: "/p.S/M", Needs: Nobody, Changes: true}, ""},
	} {
		got := Reason("")
		if no := Decide(tt.who, tt.call); no != nil {
			got = no.Reason
		}
		if got != tt.want {
			t.Errorf("%s calls %+v: %q, want %q", tt.who.Limits, tt.call, got, tt.want)
		}
	}
}

func TestAbout(t *testing.T) {
	create, weights, restore := Of(pushv1connect.ChangeServiceCreateProcedure), Of(vpnv1connect.VpnServiceSetWeightsProcedure), Of(vpnv1connect.VpnServiceRestoreProcedure)
	for name, tt := range map[string]struct {
		call    Call
		request proto.Message
		want    Things
	}{
		"a field that is empty is all of the kind": {create, &pushv1.CreateRequest{}, Things{Policies: []string{""}}},
		"a field":                        {create, &pushv1.CreateRequest{Policy: "te"}, Things{Policies: []string{"te"}}},
		"each of a list":                 {weights, &vpnv1.SetWeightsRequest{Weights: []*vpnv1.Weight{{Vpn: "blue"}, {Vpn: "red"}}}, Things{VPNs: []string{"blue", "red"}}},
		"an empty list is about nothing": {weights, &vpnv1.SetWeightsRequest{}, Things{}},
		"what is always about all":       {restore, &vpnv1.RestoreRequest{Version: 3}, Things{VPNs: []string{""}}},
		"another message than declared":  {create, &vpnv1.RestoreRequest{}, Things{Routers: []string{""}, Policies: []string{""}}},
	} {
		got := About(tt.call, tt.request)
		for _, k := range kinds {
			if !slices.Equal(k.named(got), k.named(tt.want)) {
				t.Errorf("%s: %+v, want %+v", name, got, tt.want)
				break
			}
		}
	}
}

func TestFilter(t *testing.T) {
	change := func(id string, routers ...string) *pushv1.ChangeSet {
		cs := &pushv1.ChangeSet{Id: id}
		for _, r := range routers {
			cs.Devices = append(cs.Devices, &pushv1.DeviceChange{Device: r})
		}
		return cs
	}
	all := []*pushv1.ChangeSet{change("none"), change("edge", "edge-1"), change("core", "core-1"), change("both", "core-1", "edge-1")}
	ids := func(who Caller) (out []string) {
		answer := &pushv1.ListResponse{Changes: all}
		Filter(who, Of(pushv1connect.ChangeServiceListProcedure), answer)
		for _, cs := range answer.GetChanges() {
			out = append(out, cs.GetId())
		}
		return out
	}
	if got := ids(limited(Grant{Viewer, edges})); !slices.Equal(got, []string{"none", "edge", "both"}) {
		t.Errorf("%v", got)
	}
	if got := ids(limited(Grant{Role: Viewer})); len(got) != 4 {
		t.Errorf("without limits: %v", got)
	}
	if all[2].GetId() != "core" {
		t.Error("the service's own list was changed")
	}
	flows := &vpnv1.FlowsResponse{Vpns: []string{"blue", "red"}, Flows: []*vpnv1.Flow{{Vpn: "red"}}}
	Filter(limited(Grant{Viewer, Scope{VPNs: []string{"blue"}}}), Of(vpnv1connect.VpnServiceFlowsProcedure), flows)
	if !slices.Equal(flows.GetVpns(), []string{"blue"}) || len(flows.GetFlows()) != 0 {
		t.Errorf("%v", flows)
	}
}

func TestScopesOfPeople(t *testing.T) {
	s, err := ParseScope([]string{"router=edge-*", "policy=te", "router=core-1"})
	if err != nil || s.String() != "router=edge-* router=core-1 policy=te" || !slices.Equal(s.Routers, []string{"edge-*", "core-1"}) {
		t.Errorf("%v, %v", s, err)
	}
	for _, bad := range [][]string{{"edge-*"}, {"site=a"}, {"router="}, {"router=["}, {"router=" + strings.Repeat("x", maxPattern+1)}, slices.Repeat([]string{"vpn=a"}, maxPatterns+1)} {
		if s, err := ParseScope(bad); err == nil {
			t.Errorf("%.40v is %v", bad, s)
		}
	}
	if s, err := ParseScope(nil); err != nil || !s.All() {
		t.Errorf("nothing is %v, %v", s, err)
	}
	if CheckGrant(Grant{Admin, edges}) == nil || CheckGrant(Grant{Role: Admin}) != nil || CheckGrant(Grant{Approver, edges}) != nil {
		t.Error("an admin has no scope, and others may")
	}
}

// Limits are the same behind a process and a record.
func TestLimitsBetweenProcesses(t *testing.T) {
	for _, l := range []Limits{{}, {Grants: []Grant{{Operator, edges}, {Role: Viewer}}}, {Scope: Scope{VPNs: []string{"blue"}}}} {
		if got := LimitsOf(LimitsMessage(l)); got.String() != l.String() || got.None() != l.None() {
			t.Errorf("%q is %q behind it", l, got)
		}
	}
	if LimitsMessage(Limits{}) != nil {
		t.Error("no limits have a message")
	}
}
