package audit

import (
	"errors"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/etcd"
	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

// A login by a provider that is refused has no name in its request. Its record has the one that the error names,
// unless that can be no name.
func TestARefusedLoginHasTheNameOfItsError(t *testing.T) {
	w := start(t, etcd.Shared(t))
	login := rpc.Asked{Call: rights.Call{Procedure: "/millrace.identity.v1.IdentityService/EndProviderLogin", Needs: rights.Nobody, Changes: true}}
	no := connect.NewError(connect.CodePermissionDenied, errors.New("no group"))
	for _, name := range []string{"eve", "../eve", ""} {
		end, err := w.Begin(t.Context(), login, &identityv1.EndProviderLoginRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if got := end(t.Context(), nil, rpc.Naming(no, name)); connect.CodeOf(got) != connect.CodePermissionDenied || !errors.Is(got, no) {
			t.Errorf("the caller gets %v", got)
		}
	}
	w.settle(t)
	var got []string
	for _, r := range w.list(t, &auditv1.ListRequest{}).GetRecords() {
		got = append(got, r.GetObject())
		if r.GetUser() != "" {
			t.Errorf("nobody logged in, and the record is of %s", r.GetUser())
		}
	}
	if len(got) != 3 || got[2] != "eve" || got[1] != "(not a name)" || got[0] != "" {
		t.Errorf("%q", got)
	}
}
