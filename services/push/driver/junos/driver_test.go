package junos_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/gnmiclient/gnmitest"
	"github.com/millrace/millrace/internal/junosconf"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/driver"
	"github.com/millrace/millrace/services/push/driver/junos"
	"github.com/millrace/millrace/services/push/driver/junos/junostest"
)

// golden is what policies/golden/hntes-redirect makes of its ingress router.
func golden(t *testing.T) string {
	t.Helper()
	return goldenOf(t, "hntes-redirect")
}

func goldenOf(t *testing.T, policy string) string {
	t.Helper()
	raw, err := os.ReadFile("../../../../policies/golden/" + policy + "/wr.junos")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func start(t *testing.T, quirks ...junostest.Quirk) (*junostest.Router, driver.Driver) {
	t.Helper()
	return startWith(t, junos.Junos244, quirks...)
}

func startWith(t *testing.T, p junos.Profile, quirks ...junostest.Quirk) (*junostest.Router, driver.Driver) {
	t.Helper()
	certs := gnmitest.NewCerts(t)
	r := junostest.Start(t, "mx1", certs)
	r.Turn(quirks...)
	d, err := junos.Opener{Credentials: certs.Client, Profile: p}.Open(t.Context(), r.Device)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return r, d
}

func commit(t *testing.T, d driver.Driver, id, before, after string) error {
	t.Helper()
	return d.Commit(t.Context(), driver.Master{}, driver.Commit{ID: id, Rollback: time.Minute, Changes: []diff.Change{{Path: junosconf.EntryPath, Before: before, After: after}}})
}

func held(t *testing.T, d driver.Driver) string {
	t.Helper()
	s, err := d.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Entries[junosconf.EntryPath]
}

// become commits one text after the other, reads each back, and confirms it.
func become(t *testing.T, r *junostest.Router, d driver.Driver, texts ...string) {
	t.Helper()
	last := ""
	for _, next := range texts {
		id := "c-" + string(rune('a'+len(r.Sent())))
		if err := commit(t, d, id, last, next); err != nil {
			t.Fatal(err)
		}
		if got := held(t, d); got != next {
			t.Fatalf("(-got +want):\n%s", cmp.Diff(got, next))
		}
		if err := d.Confirm(t.Context(), driver.Master{}, id); err != nil {
			t.Fatal(err)
		}
		last = next
	}
}

// The whole life of a group, whichever way it can be read back.
func TestAGroupComesChangesAndGoes(t *testing.T) {
	for name, quirks := range map[string][]junostest.Quirk{"Get works": nil, "Get fails": {junostest.GetFails}, "Get fails and there is no PROTO": {junostest.GetFails, junostest.NoProto}} {
		t.Run(name, func(t *testing.T) {
			r, d := start(t, quirks...)
			first := golden(t)
			fewer, err := junosconf.Parse(first)
			if err != nil {
				t.Fatal(err)
			}
			fewer.Delete("groups", "te-managed", "firewall", "family", "inet", "filter", "te-ingress", "term", "pair-p-w1-e1")
			if err := d.Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
			become(t, r, d, fewer.Text(), first, fewer.Text(), "")
			var kinds []string
			for _, text := range r.Sent() {
				kinds = append(kinds, strings.Fields(text)[0])
			}
			// A term before the last one is no addition at the end, so the second is lines, too.
			if diff := cmp.Diff(kinds, []string{"groups", "delete", "delete", "delete"}); diff != "" {
				t.Errorf("texts begin with (-got +want):\n%s", diff)
			}
		})
	}
}

func TestACommitThatIsNotConfirmedIsRolledBack(t *testing.T) {
	r, d := start(t)
	err := d.Commit(t.Context(), driver.Master{}, driver.Commit{ID: "c-1", Rollback: time.Hour, Changes: []diff.Change{{Path: junosconf.EntryPath, After: golden(t)}}})
	if err != nil {
		t.Fatal(err)
	}
	r.Expire()
	if got := held(t, d); got != "" {
		t.Errorf("the router still holds\n%s", got)
	}
	if err := d.Confirm(t.Context(), driver.Master{}, "c-1"); !errors.Is(err, driver.ErrNotPending) {
		t.Errorf("confirming it afterwards: %v", err)
	}
}

func TestACancelledCommitIsRolledBackAtOnce(t *testing.T) {
	_, d := start(t)
	if err := commit(t, d, "c-1", "", golden(t)); err != nil {
		t.Fatal(err)
	}
	if err := d.Cancel(t.Context(), driver.Master{}, "c-2"); !errors.Is(err, driver.ErrNotPending) {
		t.Errorf("another id: %v", err)
	}
	if err := d.Cancel(t.Context(), driver.Master{}, "c-1"); err != nil {
		t.Fatal(err)
	}
	if got := held(t, d); got != "" {
		t.Errorf("the router still holds\n%s", got)
	}
}

// A server that passes over extensions would keep everything for good: the
// probe finds out, and leaves it as it was.
func TestARouterWithoutCommitConfirmIsSentNothing(t *testing.T) {
	r, d := start(t, junostest.IgnoresCommit)
	err := d.Probe(t.Context())
	if !errors.Is(err, driver.ErrNoCommitConfirm) || !strings.Contains(err.Error(), "commit confirmed") {
		t.Errorf("got %v, want a refusal that says what to do", err)
	}
	if len(r.Sent()) > 0 || r.Config() != "" {
		t.Errorf("the probe changed the router:\n%s", r.Config())
	}
}

func TestWhatTheRouterRefusesLeavesItAsItWas(t *testing.T) {
	for name, c := range map[string]struct {
		quirk        junostest.Quirk
		before, want string
		after        string
	}{
		"a name that leads nowhere":             {after: "groups te-managed class-of-service interfaces xe-0/0/1 scheduler-map nowhere;\napply-groups te-managed;\n", want: "commit check failed"},
		"lines, where only braces are accepted": {quirk: junostest.RefusesLines, before: "x", after: "", want: "syntax error"},
	} {
		t.Run(name, func(t *testing.T) {
			r, d := start(t, c.quirk)
			if err := r.Load(golden(t)); err != nil {
				t.Fatal(err)
			}
			before := c.before
			if before != "" {
				before = golden(t)
			}
			err := commit(t, d, "c-1", before, c.after)
			if err == nil || errors.Is(err, driver.ErrLost) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if r.Config() != golden(t) || r.Pending() {
				t.Error("the router changed")
			}
		})
	}
}

// Where deletions do nothing, what is read back is not what was meant: push
// sees it before it confirms.
func TestADeletionThatDoesNothingShows(t *testing.T) {
	r, d := start(t, junostest.IgnoresDelete)
	if err := r.Load(golden(t)); err != nil {
		t.Fatal(err)
	}
	if err := commit(t, d, "c-1", golden(t), ""); err != nil {
		t.Fatal(err)
	}
	if held(t, d) == "" {
		t.Error("the router holds nothing, which is not what this quirk is")
	}
}

func TestAProfileCanRefuseRemoval(t *testing.T) {
	p := junos.Junos244
	p.Removal = junos.RemovalRefused
	r, d := startWith(t, p)
	if err := commit(t, d, "c-1", "", golden(t)); err != nil {
		t.Fatal(err)
	}
	if err := d.Confirm(t.Context(), driver.Master{}, "c-1"); err != nil {
		t.Fatal(err)
	}
	err := commit(t, d, "c-2", golden(t), "")
	if err == nil || !strings.Contains(err.Error(), "delete groups te-managed") || len(r.Sent()) != 1 {
		t.Errorf("got %v after %d texts, want a refusal that says what to do", err, len(r.Sent()))
	}
}

func TestEntriesOfOpenConfigAreRefused(t *testing.T) {
	_, d := start(t)
	err := d.Commit(t.Context(), driver.Master{}, driver.Commit{ID: "c-1", Rollback: time.Minute, Changes: []diff.Change{{Path: "/qos/queues/queue[name=te-a]", After: "{}"}}})
	if err == nil || !strings.Contains(err.Error(), "change os: in the inventory") {
		t.Errorf("got %v", err)
	}
}

func TestAnAnswerThatIsMissingIsNotAnEmptyRouter(t *testing.T) {
	for name, quirk := range map[string]junostest.Quirk{"every encoding is silent": junostest.SilentEverywhere, "the only encoding is": junostest.OnlyIETF} {
		_, d := start(t, junostest.GetFails, quirk)
		if _, err := d.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestWhatSomebodyAddedByHandShows(t *testing.T) {
	for name, quirks := range map[string][]junostest.Quirk{"Get works": nil, "Get fails": {junostest.GetFails}} {
		r, d := start(t, quirks...)
		if err := r.Load("set groups te-managed policy-options prefix-list mine 10.0.0.0/8"); err != nil {
			t.Fatal(err)
		}
		if got := held(t, d); !strings.Contains(got, "mine") || strings.Contains(got, "apply-groups") {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}

func TestVerification(t *testing.T) {
	for _, c := range []struct {
		name   string
		quirks []junostest.Quirk
		setUp  func(*junostest.Router)
		ok     bool
		want   []string
	}{
		{"counters at zero are unknown, LSPs are up", nil, nil, true, []string{
			"no unmanaged statement overrides group te-managed",
			"ge-cr shows no counters of network-control, te-alpha, te-beta: unknown, or zero", "LSP te-lsp-wr-er-0a9a38 is up",
		}},
		{"every queue counts", nil, func(r *junostest.Router) {
			for _, q := range []string{"network-control", "te-alpha", "te-beta"} {
				r.Count("ge-cr.0", q, 1)
			}
			r.Count("ge-er.0", "te-beta", 1)
		}, true, []string{"ge-cr counts in every queue", "ge-er shows no counters of network-control, te-alpha: unknown, or zero"}},
		{"an LSP is down", []junostest.Quirk{junostest.LSPsDown}, nil, false, []string{"LSP te-lsp-wr-er-0a9a38 is down"}},
		{"LSPs are not streamed", []junostest.Quirk{junostest.LSPsUnknown}, nil, true, []string{"LSP te-lsp-wr-er-0a9a38: the router does not say whether it is up"}},
		{"a port has a scheduler map of its own", nil, func(r *junostest.Router) {
			r.Own("class-of-service interfaces", "ge-cr { scheduler-map gold; shaping-rate 1g; }\n")
		}, false, []string{"unmanaged statements override group te-managed: scheduler-map gold on ge-cr"}},
		{"a unit has a filter of its own", nil, func(r *junostest.Router) {
			r.Own("interfaces", "ge-wa { mtu 9192; unit 0 { family inet { filter { input mine; } address 10.0.0.1/24; } } }\n")
		}, false, []string{"group te-managed: filter mine on ge-wa.0"}},
		{"the interfaces' routes have a RIB group of their own", nil, func(r *junostest.Router) {
			r.Own("routing-options interface-routes", "rib-group { inet mine; }\n")
		}, false, []string{"group te-managed: rib-group mine on interface-routes"}},
		{"its own configuration cannot be read", []junostest.Quirk{junostest.GetFails}, nil, true, []string{"not checked, because its configuration cannot be read as text"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, d := start(t, c.quirks...)
			if c.setUp != nil {
				c.setUp(r)
			}
			if err := r.Load(golden(t)); err != nil {
				t.Fatal(err)
			}
			checks, err := d.Verify(t.Context(), map[string]string{junosconf.EntryPath: golden(t)})
			if err != nil {
				t.Fatal(err)
			}
			ok, text := true, ""
			for _, check := range checks {
				ok = ok && check.OK
				text += check.Text + "\n"
			}
			if ok != c.ok {
				t.Errorf("ok is %t, want %t:\n%s", ok, c.ok, text)
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
		})
	}
}

func TestAnAccountIsSentBesideTheCertificate(t *testing.T) {
	certs := gnmitest.NewCerts(t)
	r := junostest.Start(t, "mx1", certs)
	r.Turn(junostest.WantsPassword)
	opener := junos.Opener{Credentials: certs.Client, Profile: junos.Junos244}
	if _, err := opener.Open(t.Context(), r.Device); err == nil {
		t.Error("connected without an account")
	}
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(junostest.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	with := r.Device
	with.Username, with.PasswordFile = "millrace", file
	d, err := opener.Open(t.Context(), with)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	with.PasswordFile = file + "-missing"
	if _, err := opener.Open(t.Context(), with); err == nil || !strings.Contains(err.Error(), "read the password of millrace for mx1") {
		t.Errorf("got %v", err)
	}
}

// What the scripted router refuses of OpenConfig (featureprofiles' metadata for Junos, pygnmi issue 11).
func TestTheScriptedRouterRefusesWhatJunosDoes(t *testing.T) {
	certs := gnmitest.NewCerts(t)
	r := junostest.Start(t, "mx1", certs)
	c, err := gnmiclient.Dial(t.Context(), r.Device, certs.Client)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, each := range []struct{ origin, json, want string }{
		{"", `{"queues":{"queue":[{"name":"a","config":{"name":"a","queue-id":1}}]}}`, ""},
		{"", `{"queues":{"queue":[{"name":"a","config":{"name":"a"}}]}}`, "has no queue-id"},
		{"", `{"inputs":{"input":[{"id":"a","config":{"weight":"101"}}]}}`, "weight 101 is over 100"},
		{"openconfig-qos", `{}`, "origin openconfig-qos is not known"},
	} {
		_, err := c.Set(t.Context(), &gnmi.SetRequest{Update: []*gnmi.Update{{
			Path: &gnmi.Path{Origin: each.origin, Elem: []*gnmi.PathElem{{Name: "qos"}}},
			Val:  &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(each.json)}},
		}}})
		if (err == nil) != (each.want == "") || (err != nil && !strings.Contains(err.Error(), each.want)) {
			t.Errorf("%s: got %v, want %q", each.json, err, each.want)
		}
	}
}
