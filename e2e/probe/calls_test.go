package probe

import (
	"os"
	"path"
	"testing"

	"github.com/millrace/millrace/internal/rights"
	_ "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"     // whose calls are probed
	_ "github.com/millrace/millrace/proto/gen/millrace/audit/v1"     // whose calls are probed
	_ "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"  // whose calls are probed
	_ "github.com/millrace/millrace/proto/gen/millrace/event/v1"     // whose calls are probed
	_ "github.com/millrace/millrace/proto/gen/millrace/flow/v1"      // whose calls are probed
	_ "github.com/millrace/millrace/proto/gen/millrace/identity/v1"  // whose calls are probed
	_ "github.com/millrace/millrace/proto/gen/millrace/paths/v1"     // whose calls are probed
	_ "github.com/millrace/millrace/proto/gen/millrace/policy/v1"    // whose calls are probed
	_ "github.com/millrace/millrace/proto/gen/millrace/push/v1"      // whose calls are probed
	_ "github.com/millrace/millrace/proto/gen/millrace/split/v1"     // whose calls are probed
	_ "github.com/millrace/millrace/proto/gen/millrace/telemetry/v1" // whose calls are probed
	_ "github.com/millrace/millrace/proto/gen/millrace/topology/v1"  // whose calls are probed
	_ "github.com/millrace/millrace/proto/gen/millrace/twin/v1"      // whose calls are probed
	_ "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"       // whose calls are probed
)

// elsewhere are services that the port does not have, though their calls are known.
var elsewhere = map[string]bool{
	"millrace.vpn.v1.VpnAgentService": true, // on the port of a PE's agent
}

// calls are those of the port.
func calls() (out []rights.Call) {
	for _, c := range rights.Calls() {
		if !elsewhere[path.Dir(c.Procedure)[1:]] {
			out = append(out, c)
		}
	}
	return out
}

// A package of calls that is not imported here would not be probed.
func TestEveryPackageIsProbed(t *testing.T) {
	const generated = "../../proto/gen/millrace"
	folders, err := os.ReadDir(generated)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range rights.Calls() {
		known[c.API] = true
	}
	for _, f := range folders {
		_, err := os.Stat(path.Join(generated, f.Name(), "v1", f.Name()+"v1connect"))
		if has := err == nil; has != known[f.Name()] {
			t.Errorf("%s has calls: %v, and is known: %v", f.Name(), has, known[f.Name()])
		}
	}
}
