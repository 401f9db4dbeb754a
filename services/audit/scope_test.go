package audit

import (
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/testkit/etcd"
	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
)

// What somebody does whose role is limited is recorded with the limits, and a refusal with what it was about.
func TestCallsWithinAScope(t *testing.T) {
	w := start(t, etcd.Shared(t))
	limited := caller{"Name": "ann", "Role": "approver", "Routers": "edge-*"}
	if err := w.approve(limited, "edge-1", ""); err != nil {
		t.Fatal(err)
	}
	if err := w.approve(limited, "core-1", ""); codeIn(err) != connect.CodePermissionDenied {
		t.Fatal(err)
	}
	all := w.list(t, &auditv1.ListRequest{}).GetRecords()
	if len(all) != 2 || told(all[0]) != "ann|session|127.0.0.1|Approve|core-1||permission_denied|scope" || told(all[1]) != "ann|session|127.0.0.1|Approve|edge-1||ok|" {
		t.Fatalf("%v", all)
	}
	for _, r := range all {
		if r.GetScope() != "its token for router=edge-* policy=*" {
			t.Errorf("%v", r)
		}
	}
	whole(t, kept(t, w.deps.State))
}
