package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/collectors/telemetry"
	"github.com/millrace/millrace/collectors/topology"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/program"
)

// Every service says what its replicas do, and a test that exists shows it.
func TestWhatReplicasDoIsSaid(t *testing.T) {
	kinds := sharings()
	for _, name := range serviceNames() {
		how, said := kinds[name]
		if !said || how.decides == "" {
			t.Errorf("%s does not say what its replicas do", name)
		}
		switch how.kind {
		case stateless, led, partitioned:
		default:
			t.Errorf("%s is %q", name, how.kind)
		}
		if how.leader != "" && how.kind != led || how.members != "" && how.kind != partitioned {
			t.Errorf("%s is %s, with the keys %q and %q", name, how.kind, how.leader, how.members)
		}
		folder, test, _ := strings.Cut(how.test, " ")
		if !hasTest(t, filepath.Join("..", "..", folder), test) {
			t.Errorf("%s: there is no test %s in %s", name, test, folder)
		}
		delete(kinds, name)
	}
	for name := range kinds {
		t.Errorf("%s is no service", name)
	}
}

func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte("\nfunc "+name+"(")) {
			return true
		}
	}
	return false
}

func TestThePageOfReplicasIsCurrent(t *testing.T) {
	var want bytes.Buffer
	writeReplicas(&want)
	is, err := os.ReadFile("../../docs/reference/replicas.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(is, want.Bytes()) {
		t.Error("docs/reference/replicas.md is not what `millrace reference replicas` prints")
	}
}

// Who leads and who shares is read from etcd by any process that has one, and printed.
func TestWhoLeadsIsShown(t *testing.T) {
	server := etcd.Start(t, program.OwnHost())
	store, err := state.Dial([]string{server.URL}, state.Plaintext)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	p := serving(t, "twin")
	page := httptest.NewServer(p.sharingPage().Handler)
	defer page.Close()
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		cmd := root()
		cmd.SetArgs(append([]string{"replicas", "--server", page.URL}, args...))
		cmd.SetOut(&out)
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	if _, err := run(); err == nil || !strings.Contains(err.Error(), "503") || !strings.Contains(err.Error(), "set etcd.endpoints") {
		t.Errorf("without etcd: %v", err)
	}
	p.state = store
	if out, err := run(); err != nil || strings.Contains(out, "nobody") {
		t.Errorf("a process with an etcd of its own has no replicas: %v\n%s", err, out)
	}
	p.shared = store
	leader := state.NewLeader(store, topology.KeyLeader, "te1/17/ABCDEF")
	if leads, err := leader.Leads(t.Context()); !leads || err != nil {
		t.Fatal(leads, err)
	}
	for _, name := range []string{"te1/18/A", "te2/19/B"} {
		l, err := store.Lock(t.Context(), name, state.LeaderLease, telemetry.MembersPrefix+name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Release()
	}
	out, err := run()
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, line := range strings.Split(out, "\n") {
		said[strings.Join(strings.Fields(line), " ")] = line
	}
	for _, want := range []string{
		"topology led te1/17/ABCDEF leads", "split led nobody leads", "telemetry partitioned shared by te1/18/A, te2/19/B", "twin stateless -",
	} {
		if _, ok := said[want]; !ok {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	raw, err := run("--json")
	var all []shared
	if err != nil || json.Unmarshal([]byte(raw), &all) != nil || len(all) != len(services()) {
		t.Errorf("%d services, %v, in %s", len(all), err, raw)
	}
	leader.Resign()
	if out, err := run(); err != nil || !strings.Contains(out, "nobody leads") || strings.Contains(out, "te1/17") {
		t.Errorf("who has resigned leads: %v\n%s", err, out)
	}
	store.Close()
	if _, err := run(); err == nil || !strings.Contains(err.Error(), http.StatusText(http.StatusServiceUnavailable)) {
		t.Errorf("where etcd is gone: %v", err)
	}
}
