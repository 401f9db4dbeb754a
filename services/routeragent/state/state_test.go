package state

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/services/routeragent/frr"
	"github.com/millrace/millrace/services/routeragent/octest"
	"github.com/millrace/millrace/services/routeragent/tree"
)

func TestLinkStateDatabaseIsValidOpenConfig(t *testing.T) {
	raw, err := os.ReadFile("../frr/testdata/frr-8.4.4-three-routers.txt")
	if err != nil {
		t.Fatal(err)
	}
	db, err := frr.ParseDatabase(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	n := tree.New()
	fill(n, db)
	got := map[string]string{}
	tree.Match{Node: n}.Leaves(func(m tree.Match) { got[m.Path.String()] = m.Node.Typed().String() })
	const node = "/network-instances/network-instance[name=DEFAULT]/protocols/protocol[identifier=OSPF][name=ospf]/ospfv2/areas/area[identifier=0.0.0.0]/ted/nodes/node[router-id=10.255.0.3]"
	for path, want := range map[string]string{
		node + "/state/loopback":  `"10.255.0.3"`,
		node + "/state/sid-label": "16003",
		node + "/state/srgb-size": "8000",
		node + "/links/link[local-address=10.0.23.1]/state/remote-router-id":  `"10.255.0.2"`,
		node + "/links/link[local-address=10.0.23.1]/state/remote-address":    `"10.0.23.2"`,
		node + "/links/link[local-address=10.0.23.1]/state/igp-metric":        "10",
		node + "/links/link[local-address=10.0.23.1]/state/maximum-bandwidth": "1410065408",
		node + "/prefixes/prefix[prefix=10.255.0.3/32]/state/metric":          "0",
	} {
		if !strings.HasSuffix(got[path], want) {
			t.Errorf("%s is %q, want %s", path, got[path], want)
		}
	}
	document, _ := n.AppendJSON(nil, tree.All)
	if _, err := octest.Judge(document); err != nil {
		t.Errorf("ygot cannot read it: %v", err)
	}
	if _, err := n.Judge(nil); err != nil && !strings.Contains(err.Error(), "config/") {
		t.Error(err)
	}
}

// Subscribers would take a database that could not be read once for a network that is gone.
func TestOneAnswerThatDoesNotComeIsNoNetworkThatIsGone(t *testing.T) {
	raw, err := os.ReadFile("../frr/testdata/frr-8.4.4-three-routers.txt")
	if err != nil {
		t.Fatal(err)
	}
	db, err := frr.ParseDatabase(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	fails := errors.New("vtysh: signal: killed")
	var answer error
	r := New(Dependencies{Log: slog.New(slog.DiscardHandler)})
	r.load = func(context.Context) (*frr.Database, error) { return db, answer }
	read := func(ctx context.Context) (string, error) {
		n := tree.New()
		err := r.database(ctx, n)
		document, _ := n.AppendJSON(nil, tree.All)
		return string(document), err
	}
	whole, err := read(t.Context())
	if err != nil || whole == "" {
		t.Fatal(err)
	}
	for _, c := range []struct {
		age  time.Duration
		want string
	}{{DatabaseAge, whole}, {databaseKept, ""}} {
		answer, r.read = fails, time.Now().Add(-c.age)
		if got, err := read(t.Context()); got != c.want || err != nil {
			t.Errorf("after %s without an answer: %d bytes, %v", c.age, len(got), err)
		}
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if _, err := read(left); !errors.Is(err, context.Canceled) {
		t.Errorf("a reading that was given up ends with %v", err)
	}
}
