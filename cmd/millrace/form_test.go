package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/backup"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/newer"
	"github.com/millrace/millrace/internal/testkit/program"
)

// newerForm is what a newer millrace has joined with.
var newerForm = state.Forms{Reads: state.Own.Reads + 1, Writes: state.Own.Writes + 1}

// The next millrace writes as this one does and reads more: both run side by side. The one after it writes what this
// one does not read: this one ends, no other one of it starts, and nothing was written by those that were refused.
func TestAMillraceThatIsTooOldIsRefused(t *testing.T) {
	server := etcd.Start(t, program.OwnHost())
	store := dialled(t, server)
	settings := fmt.Sprintf("identity: {mode: off}\netcd: {endpoints: [%q]}\n", server.URL)
	next := state.Forms{Reads: newerForm.Reads, Writes: state.Own.Writes}
	if err := store.Join(t.Context(), next, "0.9.0"); err != nil {
		t.Fatal(err)
	}
	for _, service := range []string{"audit", "telemetry"} { // one keeps records in etcd, the other only shares its work
		if err := store.Apply(t.Context(), state.Op{Key: "form"}); err != nil {
			t.Fatal(err)
		}
		p, err := newProcess(t.Context(), newMachine(t, settings).cfg, nil, service)
		if err != nil {
			t.Fatal(err)
		}
		await.True(t, "the process has joined", func() bool {
			form, err := store.Form(t.Context())
			return err == nil && form == state.Own.Writes
		})
		if err := store.Join(t.Context(), next, "0.9.0"); err != nil {
			t.Fatalf("the next one beside it: %v", err)
		}
		if err := store.Join(t.Context(), newerForm, "0.10.0"); err != nil {
			t.Fatal(err)
		}
		if err := await.Value(t, "the process ends", p.failed); !errors.Is(err, state.ErrTooOld) {
			t.Errorf("%s ends with %v", service, err)
		}
		if err := p.close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	before, err := store.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProcess(t.Context(), newMachine(t, settings).cfg, nil, "audit")
	if err == nil {
		t.Fatal(p.close(t.Context()))
	}
	for _, says := range []string{"of form 2, which millrace 0.10.0 has written", "Run 0.10.0 or a later one", "restore the backup"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("refused by %q, want %q", err, says)
		}
	}
	after, err := store.List(t.Context(), "")
	if err != nil || len(after) != len(before) {
		t.Errorf("etcd has %d keys after %d, %v", len(after), len(before), err)
	}
}

// A downgrade with the etcd inside the process, and of a backup that a newer millrace has made.
func TestADowngradeIsRefused(t *testing.T) {
	m := newMachine(t, "")
	m.hosted(func(p *process) {
		if err := p.state.Join(t.Context(), newerForm, "0.10.0"); err != nil {
			t.Error(err)
		}
		if err := await.Value(t, "the process that runs ends", p.failed); !errors.Is(err, state.ErrTooOld) {
			t.Error(err)
		}
	})
	if p, err := m.start(); !errors.Is(err, state.ErrTooOld) {
		t.Errorf("the start: %v", err)
		if err == nil {
			t.Error(p.close(t.Context()))
		}
	}
	folder := t.TempDir() + "/backup"
	m.must("backup", folder)
	manifest, err := backup.Read(folder)
	if err != nil || manifest.Etcd.Form != newerForm.Writes {
		t.Fatalf("the backup has form %d, %v", manifest.Etcd.Form, err)
	}
	empty := newMachine(t, "")
	empty.refused("records of etcd are of form 2 and this millrace reads forms up to 1", "restore", folder)
	empty.hosted(func(p *process) {
		if form, err := p.state.Form(t.Context()); err != nil || form != state.Own.Writes {
			t.Errorf("the refused restore left form %d, %v", form, err)
		}
	})
}

// What a newer process records beside the settings of an installation is there after this one has joined.
func TestFieldsOfANewerProcessStay(t *testing.T) {
	newer.Owner(t, "cmd/millrace")
	store := dialled(t, etcd.Start(t, program.OwnHost()))
	if err := claim(t.Context(), store, map[string]string{"installation": "te1"}); err != nil {
		t.Fatal(err)
	}
	kept := newer.Plant(t, store, keyInstallation)
	if err := claim(t.Context(), store, map[string]string{"installation": "te1", "kafka.prefix": "te1."}); err != nil {
		t.Fatal(err)
	}
	kept.Stay(t)
}
