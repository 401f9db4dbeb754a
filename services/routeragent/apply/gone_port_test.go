package apply

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// hide takes the port ge-a away, show brings it back.
func (d *dark) hide() {
	d.router.In("ip", "link", "set", "ge-a", "down")
	d.router.In("ip", "link", "set", "ge-a", "name", "ge-x")
}

func (d *dark) show() { d.router.In("ip", "link", "set", "ge-x", "name", "ge-a") }

// wantLack wants the port ge-a to be what the router lacks, and nothing else.
func (d *dark) wantLack() {
	d.Helper()
	for _, err := range []error{d.store.Drift(), d.store.Reconcile(d.Context()), d.store.Drift()} {
		if err == nil || !strings.Contains(err.Error(), "ge-a") || strings.Contains(err.Error(), "ge-b") {
			d.Errorf("the router lacks %v, want ge-a alone", err)
		}
	}
}

// wantWhole wants the port that came back to be as the other one.
func (d *dark) wantWhole(rate string) {
	d.Helper()
	if err := d.store.Reconcile(d.Context()); err != nil || d.store.Drift() != nil {
		d.Errorf("with the port again: %v, drift %v", err, d.store.Drift())
	}
	d.wantRate("ge-a", rate)
	d.wantRate("ge-b", rate)
}

// A trial may have cut the router off, and a port be gone when its time is over: the other ports are as they were.
func TestACommitIsRolledBackWhileAPortIsGone(t *testing.T) {
	d := newDark(t)
	if err := d.edit("15", nil, onB, onA); err != nil {
		t.Fatal(err)
	}
	if err := d.edit("95", &Confirmation{ID: "c1", Duration: time.Minute}, onB, onA); err != nil {
		t.Fatal(err)
	}
	d.wantRate("ge-b", "95Mbit")
	d.hide()
	d.over()
	d.wantRate("ge-b", "75Mbit")
	d.wantLack()
	d.show()
	d.wantWhole("75Mbit")
}

func TestAStartWithoutAPortConfiguresTheOthers(t *testing.T) {
	d := newDark(t)
	if err := d.edit("15", nil, onB, onA); err != nil {
		t.Fatal(err)
	}
	d.router.In("tc", "qdisc", "del", "dev", "ge-b", "root")
	d.hide()
	d.start()
	d.wantRate("ge-b", "75Mbit")
	d.wantLack()
	d.show()
	d.wantWhole("75Mbit")
}

// A Set is not accepted with an interface that is not there, whether the running configuration has it or not.
func TestAnEditThatNamesAnInterfaceThatIsNotThereIsRefused(t *testing.T) {
	d := newDark(t)
	if err := d.edit("15", nil, onB, onA); err != nil {
		t.Fatal(err)
	}
	refused := func() {
		t.Helper()
		var why *intent.Error
		if err := d.edit("95", nil, onB, onA); !errors.As(err, &why) || !strings.Contains(why.Reason, `no interface "ge-a"`) {
			t.Errorf("an edit with ge-a: %v", err)
		}
		d.wantRate("ge-b", "75Mbit")
	}
	d.hide()
	refused()
	d.start()
	refused()
	d.wantLack()
	if err := d.edit("95", nil); err != nil {
		t.Fatalf("an edit that takes ge-a out: %v", err)
	}
	d.wantRate("ge-b", "95Mbit")
	if err := d.store.Drift(); err != nil {
		t.Error(err)
	}
	if got := d.router.In("tc", "qdisc", "show", "dev", "ge-x"); slices.Contains(strings.Fields(got), "htb") {
		t.Errorf("our scheduler is on a port that the configuration does not name: %s", got)
	}
}

// A circuit without a VLAN, whose port the router itself has come to need.
const untagged = `"openconfig-network-instance:network-instances":{"network-instance":[{"name":"te-c1","config":{"name":"te-c1","type":"openconfig-network-instance-types:L2P2P"},"connection-points":{"connection-point":[
{"connection-point-id":"l","config":{"connection-point-id":"l"},"endpoints":{"endpoint":[{"endpoint-id":"l","config":{"endpoint-id":"l","type":"openconfig-network-instance-types:LOCAL"},"local":{"config":{"interface":"ge-a"}}}]}},
{"connection-point-id":"r","config":{"connection-point-id":"r"},"endpoints":{"endpoint":[{"endpoint-id":"r","config":{"endpoint-id":"r","type":"openconfig-network-instance-types:REMOTE"},"remote":{"config":{"remote-system":"198.18.0.3","virtual-circuit-identifier":7,"te-circuit-ext:local-system":"198.18.0.2"}}}]}}]}}]},`

// A configuration without a plan is returned to by nothing: an edit that fails must not take away what the ports have.
func TestAFailedEditOfAConfigurationWithoutAPlanTakesNothingAway(t *testing.T) {
	d := newDark(t)
	if err := d.edit("15", nil, `{"openconfig-qos`, `{`+untagged+`"openconfig-qos`); err != nil {
		t.Fatal(err)
	}
	has := d.store.cfg.Hardware
	d.store.cfg.Hardware = func(name string) (intent.Interface, bool) {
		i, ok := has(name)
		i.RouterUses = func() (string, error) { return "the router's own", nil }
		return i, ok
	}
	d.store.restore(t.Context(), d.store.running, d.store.plan.IDs)
	if err := d.store.Drift(); err == nil || !strings.Contains(err.Error(), "the router's own") {
		t.Fatalf("drift %v", err)
	}
	d.store.engine.Kernel.Fault = func(string) error { return errors.New("injected") }
	empty := func(n *tree.Node) error { n.Members = tree.New().Members; return nil }
	if err := d.store.Edit(t.Context(), empty, nil); !errors.Is(err, ErrApply) {
		t.Errorf("the edit: %v", err)
	}
	d.store.engine.Kernel.Fault = nil
	d.wantRate("ge-b", "75Mbit")
}
