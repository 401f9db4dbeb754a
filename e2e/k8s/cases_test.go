//go:build k8s

package k8s

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/faults"
	"github.com/millrace/millrace/internal/testkit/program"
)

var image = flag.String("image", "../../out/image/millrace.tar", "archive of the image under test, tagged as make image does")

// cases are what holds on a cluster, in their order: each begins where the one before has ended.
var cases = []struct {
	name string
	run  func(*world, *testing.T)
}{
	{"the API server takes what the chart renders", (*world).rendered},
	{"kube-score finds nothing in the chart but what is accepted with a reason", (*world).scores},
	{"without a StorageClass an install is refused, and nothing is made", (*world).noStorage},
	{"with default values it is ready, and helm test passes", (*world).install},
	{"a NetworkPolicy keeps the page from pods of other namespaces, and opens it for those of its own", (*world).pageKept},
	{"the pod hears on the ports that image and chart name, and no others", (*world).portsHeard},
	{"the printed link logs in, once; without a login nothing is answered", (*world).logins},
	{"an upgrade brings the routers, and keeps people and tokens", (*world).routers},
	{"flows from outside have the exporter's own address", (*world).flows},
	{"the CronJob finds the pair", (*world).nightly},
	{"a change set approved by a token is on the router outside", (*world).change},
	{"a node that is a router and a PE: its agents run in DaemonSets, and the next one takes over", (*world).onNode},
	{"the pod killed during a change set: the record says what the router has", (*world).killedInChange},
	{"the pod killed during an import: repeated, each record is there once", (*world).killedInImport},
	{"an upgrade and a rollback under load: what was acknowledged is kept", (*world).upgradeUnderLoad},
	{"an image that cannot be pulled: the old pod serves on", (*world).badImage},
	{"a misspelt key of millrace.yaml: the old pod serves on", (*world).badKey},
	{"a drain waits for the disruption budget", (*world).drain},
	{"the node loses its power: all data are there again", (*world).power},
	{"an uninstall leaves the claim and what the operator made", (*world).uninstall},
	{"parts: each service in pods of its own is ready, and helm test passes", (*world).installParts},
	{"parts: a NetworkPolicy keeps the services' ports for the release's own pods", (*world).servicesKept},
	{"parts: flows from outside are stored", (*world).flows},
	{"parts: the CronJob finds the pair", (*world).nightly},
	{"parts: a change set approved by a token is on the router outside", (*world).change},
	{"parts: the push service killed during a change set: the record says what the router has", (*world).killedInChange},
	{"parts: collector and flow store killed during an import: repeated, each record is there once", (*world).killedInImport},
	{"parts: collectors come and go under load: each datagram's record is stored", (*world).scaled},
	{"parts: an autoscaler adds collectors by their load and takes them away: each datagram's record is stored", (*world).autoscaled},
	{"parts: each service's pod deleted without a warning: all work again", (*world).eachDeleted},
	{"parts: a second pod of each service is on the second node", (*world).spread},
	{"parts: the second node loses its power during a change set: the record says what the router has, and a later one is verified", (*world).lost},
	{"parts: the second node is drained during a change set: every request is answered", (*world).drained},
}

var held int

func TestMain(m *testing.M) {
	flag.Parse()
	code, ran, err := faults.OwnNetwork()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if ran { // in a network that is the world outside of the cluster
		os.Exit(code)
	}
	code = program.Main(m)
	fmt.Printf("k8s: %d of %d hold\n", held, len(cases))
	if held < len(cases) && code == 0 {
		code = 1
	}
	os.Exit(code)
}

func TestCluster(t *testing.T) {
	w := newWorld(t)
	for _, c := range cases {
		if t.Run(c.name, func(t *testing.T) { c.run(w, t) }) {
			held++
			continue
		}
		w.describe(t)
	}
}

// The page has a row for each case.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if !strings.Contains(string(page), "| "+c.name+" |") {
			t.Errorf("docs/reference/kubernetes.md has no row %q", c.name)
		}
	}
}
