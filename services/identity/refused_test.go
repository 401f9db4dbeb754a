package identity

import (
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/oidc"
)

// The error of a login that is refused has the name that the provider's token has, which the audit log records.
func TestARefusedProviderLoginNamesThePerson(t *testing.T) {
	w, p := withProvider(t, false, nil)
	w.add(t, "lou", rights.Viewer)
	p.People(t, map[string]oidc.Person{
		"s-eve": {Name: "eve", Groups: []string{"staff"}}, "s-lou": {Name: "lou", Groups: []string{"noc"}}, "s-none": {Groups: []string{"noc"}},
	})
	for subject, want := range map[string]string{"s-eve": "eve", "s-lou": "lou", "s-none": ""} {
		_, err := (&api{w.Component}).EndProviderLogin(t.Context(), connect.NewRequest(w.at(t, subject)))
		if err == nil || rpc.NameIn(err) != want {
			t.Errorf("%s: %v names %q, want %q", subject, err, rpc.NameIn(err), want)
		}
	}
	bad := w.at(t, "s-eve")
	bad.State = "other"
	if _, err := (&api{w.Component}).EndProviderLogin(t.Context(), connect.NewRequest(bad)); err == nil || rpc.NameIn(err) != "" {
		t.Errorf("before a token is read: %v names %q", err, rpc.NameIn(err))
	}
}
