package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/program"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

func TestJoined(t *testing.T) {
	type settings = map[string]string
	for name, tt := range map[string]struct {
		recorded, mine, want settings
		says                 string
	}{
		"the first":                  {settings{}, settings{"installation": "te1"}, settings{"installation": "te1"}, ""},
		"a replica":                  {settings{"installation": "te1", "kafka.prefix": ""}, settings{"installation": "te1", "kafka.prefix": ""}, settings{"installation": "te1", "kafka.prefix": ""}, ""},
		"one that uses more":         {settings{"installation": "te1"}, settings{"installation": "te1", "kafka.prefix": "te1."}, settings{"installation": "te1", "kafka.prefix": "te1."}, ""},
		"one that uses less":         {settings{"installation": "te1", "kafka.prefix": "te1."}, settings{"installation": "te1"}, settings{"installation": "te1", "kafka.prefix": "te1."}, ""},
		"another name":               {settings{"installation": "te1"}, settings{"installation": "te2"}, nil, `installation is "te1" there, and "te2" here`},
		"another prefix":             {settings{"installation": "te1", "kafka.prefix": ""}, settings{"installation": "te1", "kafka.prefix": "te2."}, nil, `kafka.prefix is "" there, and "te2." here`},
		"the name before the prefix": {settings{"installation": "a", "kafka.prefix": "a"}, settings{"installation": "b", "kafka.prefix": "b"}, nil, "installation is"},
	} {
		before := maps.Clone(tt.recorded)
		got, err := joined(tt.recorded, tt.mine)
		if !maps.Equal(got, tt.want) || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if !maps.Equal(before, tt.recorded) {
			t.Errorf("%s: what is recorded was changed to %v", name, tt.recorded)
		}
	}
}

// TestTwoInstallationsOnOneEtcd: a replica joins, another installation is refused with a sentence, and nothing of it
// has run; what the sentence says to do lets it in.
func TestTwoInstallationsOnOneEtcd(t *testing.T) {
	server := etcd.Start(t, program.OwnHost())
	named := func(name string) *machine {
		return newMachine(t, fmt.Sprintf("installation: %s\netcd: {endpoints: [%q]}\n", name, server.URL))
	}
	first, other := named("te1"), named("te2")
	first.hosted(func(*process) {
		cfg := named("te1").cfg
		cfg.Endpoints = map[string]addresses{"policy": {"http://127.0.0.1:1"}, "paths": {"http://127.0.0.1:1"}}
		replica, err := newProcess(t.Context(), cfg, nil, "push") // the engine of tables is open already
		if err != nil {
			t.Fatal(err)
		}
		if err := replica.close(t.Context()); err != nil {
			t.Error(err)
		}
		p, err := other.start()
		if err == nil {
			t.Fatal(p.close(t.Context()))
		}
		sharing := newMachine(t, fmt.Sprintf("installation: te2\nidentity: {mode: off}\netcd: {endpoints: [%q]}\n", server.URL))
		collector, failed := newProcess(t.Context(), sharing.cfg, nil, "telemetry") // which keeps nothing in etcd
		if failed != nil {
			t.Fatal(failed)
		}
		if err := await.Value(t, "the end of a collector that shares its work", collector.failed); !errors.Is(err, errOther) {
			t.Errorf("a collector ends with %v", err)
		}
		if err := collector.close(t.Context()); err != nil {
			t.Error(err)
		}
		for _, says := range []string{`installation is "te1" there, and "te2" here`, "/millrace/installation"} {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("refused by %v, want %q", err, says)
			}
		}
	})
	store := dialled(t, server)
	if err := store.Apply(t.Context(), state.Op{Key: keyInstallation}); err != nil {
		t.Fatal(err)
	}
	other.hosted(func(*process) {})
}

func dialled(t *testing.T, server *etcd.Server) *state.Store {
	t.Helper()
	store, err := state.Dial([]string{server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// Of two that come first at once one is.
func TestClaimsAtOnce(t *testing.T) {
	store := dialled(t, etcd.Start(t, program.OwnHost()))
	var errs [8]error
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = claim(t.Context(), store, map[string]string{"installation": fmt.Sprint(i % 2)}) })
	}
	all.Wait()
	refused := 0
	for i, err := range errs {
		if (err == nil) != (errs[i%2] == nil) {
			t.Errorf("of one installation: %v and %v", err, errs[i%2])
		}
		if err != nil {
			refused++
		}
	}
	if refused != len(errs)/2 {
		t.Errorf("%d refused: %v", refused, errs)
	}
}

// A backup of one installation is restored for another one.
func TestABackupIsRestoredForAnotherInstallation(t *testing.T) {
	server := etcd.Start(t, program.OwnHost())
	store := dialled(t, server)
	from := newMachine(t, fmt.Sprintf("installation: te1\netcd: {endpoints: [%q]}\n", server.URL))
	from.hosted(func(*process) {
		if _, err := store.Put(t.Context(), "freezes/all", 0, &pushv1.Freeze{By: "ann"}); err != nil {
			t.Error(err)
		}
	})
	folder := filepath.Join(t.TempDir(), "backup")
	from.must("backup", folder)
	newMachine(t, fmt.Sprintf("etcd: {endpoints: [%q]}\n", server.URL)).must("restore", folder, "--force")
	if _, err := store.Get(t.Context(), "freezes/all", &pushv1.Freeze{}); err != nil {
		t.Error(err)
	}
	if err := claim(t.Context(), store, map[string]string{"installation": "te2"}); err != nil {
		t.Error(err)
	}
}
