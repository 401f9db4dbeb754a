package apply

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/routeragent/labtest"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// dark is a router without FRR whose ports have a speed only while they have a carrier.
type dark struct {
	*testing.T
	router *labtest.Router
	dir    string
	speed  uint64
	store  *Store
	// over ends the wait for a confirmation.
	over func()
}

func newDark(t *testing.T) *dark {
	d := &dark{T: t, router: labtest.NewRouter(t), dir: t.TempDir(), speed: 100e6}
	d.start()
	return d
}

func (d *dark) start() {
	d.Helper()
	log := slog.New(slog.DiscardHandler)
	k, err := kernel.Open(kernel.Configuration{Namespace: d.router.NS, Owned: filepath.Join(d.dir, "owned.json")}, log)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(k.Close)
	d.store = NewStore(Configuration{
		Dir: d.dir,
		Hardware: func(name string) (intent.Interface, bool) {
			has, lo := k.HasLink(name)
			return intent.Interface{Speed: d.speed, Loopback: lo}, has
		},
		Interfaces: func() []string { return []string{"ge-a", "ge-b"} },
		After:      func(_ time.Duration, f func()) func() { d.over = f; return func() {} },
	}, &Engine{Kernel: k, Log: log})
	if err := d.store.Recover(d.Context()); err != nil {
		d.Fatal(err)
	}
}

// edit makes the queues of two ports the configuration.
func (d *dark) edit(weight string, confirm *Confirmation, replace ...string) error {
	d.Helper()
	text := strings.NewReplacer(append(replace, "WEIGHT", weight)...).Replace(twoQueues)
	next := configuration(d.T, text)
	return d.store.Edit(d.Context(), func(n *tree.Node) error { n.Members = next.Members; return nil }, confirm)
}

func (d *dark) wantRate(port, rate string) {
	d.Helper()
	if got := d.router.In("tc", "class", "show", "dev", port); !strings.Contains(got, " rate "+rate+" ") {
		d.Errorf("no class of %s has the rate %s:\n%s", port, rate, got)
	}
}

const twoQueues = `{"openconfig-qos:qos":{
"queues":{"queue":[{"name":"a","config":{"name":"a","queue-id":1}},{"name":"b","config":{"name":"b","queue-id":0}}]},
"scheduler-policies":{"scheduler-policy":[{"name":"p","config":{"name":"p"},"schedulers":{"scheduler":[{"sequence":1,"config":{"sequence":1},"inputs":{"input":[
{"id":"a","config":{"id":"a","input-type":"QUEUE","queue":"a","weight":"WEIGHT"}},{"id":"b","config":{"id":"b","input-type":"QUEUE","queue":"b","weight":"5"}}]}}]}}]},
"interfaces":{"interface":[{"interface-id":"ge-b","config":{"interface-id":"ge-b"},"output":{"scheduler-policy":{"config":{"name":"p"}}}}]}}}`

// onA puts the scheduler on ge-a as well.
const onB, onA = `"interface":[{`, `"interface":[{"interface-id":"ge-a","config":{"interface-id":"ge-a"},"output":{"scheduler-policy":{"config":{"name":"p"}}}},{`

func TestAPortWithoutACarrierKeepsItsSpeed(t *testing.T) {
	d := newDark(t)
	if err := d.edit("95", nil); err != nil {
		t.Fatal(err)
	}
	d.speed = 0
	if err := d.edit("15", nil); err != nil {
		t.Fatalf("a change while a port has no carrier: %v", err)
	}
	d.wantRate("ge-b", "75Mbit")
	if i, _ := d.store.Hardware("ge-b"); i.Speed != 100e6 || i.Buffer != 1250000 {
		t.Errorf("speed %d and buffer %d", i.Speed, i.Buffer)
	}
	// A router that starts, with its ports still dark.
	d.router.In("tc", "qdisc", "del", "dev", "ge-b", "root")
	d.start()
	d.wantRate("ge-b", "75Mbit")
	if err := d.store.Drift(); err != nil {
		t.Error(err)
	}
}

func TestACommitIsRolledBackWhileAPortHasNoCarrier(t *testing.T) {
	d := newDark(t)
	if err := d.edit("15", nil); err != nil {
		t.Fatal(err)
	}
	if err := d.edit("95", &Confirmation{ID: "c1", Duration: time.Minute}); err != nil {
		t.Fatal(err)
	}
	d.wantRate("ge-b", "95Mbit")
	d.speed = 0
	d.over()
	d.wantRate("ge-b", "75Mbit")
	if id, drift := d.store.PendingID(), d.store.Drift(); id != "" || drift != nil {
		t.Errorf("commit %q waits, drift %v", id, drift)
	}
}

// Only the scheduler of the port whose speed was never known is missing; and it is not asked for in vain.
func TestAPortOfUnknownSpeedHoldsUpNothingElse(t *testing.T) {
	d := newDark(t)
	if err := d.edit("95", nil, onB, onA); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(d.dir, speedsName)); err != nil {
		t.Fatal(err)
	}
	d.speed = 0
	d.start()
	known := func(port string) {
		d.store.cfg.Hardware = func(name string) (intent.Interface, bool) {
			if name == port {
				return intent.Interface{Speed: 100e6}, true
			}
			return intent.Interface{}, true
		}
	}
	known("ge-b")
	if err := d.store.Reconcile(t.Context()); err == nil || !strings.Contains(err.Error(), "ge-a") || strings.Contains(err.Error(), "ge-b") {
		t.Errorf("the router lacks %v", err)
	}
	if err := d.edit("15", nil, onB, onA); err != nil {
		t.Fatalf("a change beside the port: %v", err)
	}
	d.wantRate("ge-b", "75Mbit")
	if err := d.store.Drift(); err == nil {
		t.Error("what is missing is not reported")
	}
	if err := d.edit("15", nil); err != nil {
		t.Fatal(err)
	}
	if err := d.store.Drift(); err != nil {
		t.Error(err)
	}
	if err := d.edit("15", nil, onB, onA); err == nil {
		t.Error("a scheduler of an unknown speed was taken")
	}
	known("ge-a")
	if err := d.edit("15", nil, onB, onA); err != nil {
		t.Fatal(err)
	}
	d.wantRate("ge-a", "75Mbit")
	d.wantRate("ge-b", "75Mbit")
}

// A file of speeds is no reason not to start: an agent of another version, or a power cut, may have left any.
func TestSpeedsThatCannotBeReadKeepNoAgentFromStarting(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		kept bool // where it is, else it is moved aside
	}{
		"a newer form":             {`{"form":2,"speeds":{"ge-b":"100M"}}`, true},
		"a member of a newer form": {`{"form":1,"speeds":{"ge-b":7},"media":{}}`, true},
		"half written":             {`{"form":1,"spee`, false},
		"empty":                    {``, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDark(t)
			if err := d.edit("95", nil); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(d.dir, speedsName)
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			d.start()
			d.wantRate("ge-b", "95Mbit")
			d.speed = 0
			if err := d.edit("15", nil); err != nil {
				t.Errorf("the speed is not known any more: %v", err)
			}
			is, err := os.ReadFile(path)
			aside, _ := os.ReadFile(path + ".unreadable")
			if c.kept && (err != nil || string(is) != c.text || aside != nil) {
				t.Errorf("the file is %q, %v, and aside is %q", is, err, aside)
			}
			if !c.kept && (err != nil || string(aside) != c.text || !strings.Contains(string(is), `"ge-b":100000000`)) {
				t.Errorf("the file is %q, %v, and aside is %q", is, err, aside)
			}
		})
	}
}

// A port that negotiates another speed has its queues in that, changed in place; while speeds stay, nothing is touched.
func TestAPortThatNegotiatesAnotherSpeedIsFound(t *testing.T) {
	d := newDark(t)
	if err := d.edit("15", nil); err != nil {
		t.Fatal(err)
	}
	var steps []string
	d.store.engine.Kernel.Fault = func(step string) error { steps = append(steps, step); return nil }
	look := func() error { return errors.Join(d.store.Check(t.Context()), d.store.Reconcile(t.Context())) }
	if err := look(); err != nil || len(steps) > 0 {
		t.Errorf("nothing has changed: %v, steps %q", err, steps)
	}
	d.speed = 10e6
	if err := d.store.Check(t.Context()); err == nil || d.store.Drift() == nil || !strings.Contains(err.Error(), "ge-b") {
		t.Errorf("the check of a port with another speed: %v, drift %v", err, d.store.Drift())
	}
	if err := d.store.Reconcile(t.Context()); err != nil {
		t.Error(err)
	}
	d.wantRate("ge-b", "7500Kbit")
	if want := []string{"change scheduler of ge-b"}; !slices.Equal(steps, want) {
		t.Errorf("steps %q, want %q", steps, want)
	}
	d.speed = 0 // without a carrier it keeps the last one
	if err := look(); err != nil || len(steps) > 1 {
		t.Errorf("nothing has changed but the carrier: %v, steps %q", err, steps)
	}
}
