package rights

import (
	"testing"

	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

func TestMay(t *testing.T) {
	create, approve := Of(pushv1connect.ChangeServiceCreateProcedure), Of(pushv1connect.ChangeServiceApproveProcedure)
	read := Of(vpnv1connect.VpnServiceWeightsProcedure)
	routers, policies := Scope{Routers: []string{"edge-*"}}, Scope{Policies: []string{"te"}}
	both := Scope{Routers: routers.Routers, Policies: policies.Policies}
	by := func(scope Scope, who Caller) Caller { who.Limits.Scope = scope; return who }
	for name, tt := range map[string]struct {
		who    Caller
		call   Call
		want   Reason
		judged bool
	}{
		"a role without limits":                      {Caller{Name: "ann", Role: Operator}, create, "", false},
		"a role that is too low":                     {limited(Grant{Viewer, both}), create, RoleTooLow, false},
		"its kinds":                                  {limited(Grant{Operator, both}), create, "", true},
		"a policy is always named, and it has none":  {limited(Grant{Operator, routers}), create, OutOfScope, false},
		"the role holds for a policy in a lower one": {limited(Grant{Approver, routers}, Grant{Viewer, both}), create, OutOfScope, false},
		"and in another one of the same":             {limited(Grant{Operator, routers}, Grant{Operator, both}), create, "", true},
		"a token takes the policies away":            {by(routers, limited(Grant{Operator, both})), create, OutOfScope, false},
		"a record may be about anything":             {limited(Grant{Approver, policies}), approve, "", true},
		"what needs no login":                        {limited(Grant{Viewer, routers}), Of(identityv1connect.IdentityServiceLoginProcedure), "", false},
		"what only reads":                            {limited(Grant{Viewer, routers}), read, "", false},
	} {
		no, judged := May(tt.who, tt.call)
		var got Reason
		if no != nil {
			got = no.Reason
		}
		if got != tt.want || judged != tt.judged {
			t.Errorf("%s: %v %v, want %q %v", name, no, judged, tt.want, tt.judged)
		}
	}
}
