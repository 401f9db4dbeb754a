package policy

import (
	"net/netip"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/device"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
)

// A router whose routing daemon restarts is in the inventory and not in the topology: an empty plan would be taken
// for the wish to remove everything from it.
func TestARouterThatTheTopologyDoesNotKnowIsNamed(t *testing.T) {
	client, c := startWith(t, DefaultConfiguration())
	c.deps.Inventory.Devices = append(c.deps.Inventory.Devices, device.Device{Name: "restarting", Loopback: netip.MustParseAddr("10.255.9.9")})
	r, err := client.Plan(t.Context(), connect.NewRequest(&policyv1.PlanRequest{Policy: "hntes-two-queue"}))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r.Msg.GetAbsent(), []string{"restarting"}); d != "" {
		t.Errorf("absent (-got +want):\n%s", d)
	}
}
