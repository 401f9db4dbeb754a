package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"go.etcd.io/etcd/api/v3/authpb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/program"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

// lines are what a log says.
type lines chan string

func (l lines) Write(p []byte) (int, error) { l <- string(p); return len(p), nil }

const lacksRight = "etcd refuses user millrace the keys below /millrace/: grant a role of that user"

// TestAStartAwaitsARightOfEtcds: nothing starts before etcd's user may write, and the log says so once.
func TestAStartAwaitsARightOfEtcds(t *testing.T) {
	server := etcd.Start(t, program.OwnHost(), etcd.Tokens(300))
	server.Users(t, "millrace", "secret", "/millrace/others/")
	server.Grant(t, "millrace", authpb.READ, "/millrace/")
	store, err := state.Dial([]string{server.URL}, state.As("millrace", func() (string, error) { return "secret", nil }))
	if err != nil {
		t.Fatal(err)
	}
	b, said := bus.NewMemory(), make(lines, 100)
	p := &process{state: store, bus: b, log: slog.New(slog.NewTextHandler(said, nil)), metrics: prometheus.NewRegistry()}
	t.Cleanup(func() { p.close(context.Background()); store.Close(); b.Close() }) //nolint:errcheck // the test ends
	started := make(chan error, 1)
	go func() { started <- p.keepState(t.Context(), nil) }()
	if line := await.Value(t, "a line of the log", said); !strings.Contains(line, "nothing starts before etcd can be used") || !strings.Contains(line, lacksRight) {
		t.Errorf("the log says %s", line)
	}
	server.Grant(t, "millrace", authpb.READWRITE, "/millrace/")
	if err := await.Value(t, "the start", started); err != nil {
		t.Error(err)
	}
	for len(said) > 0 {
		if line := <-said; strings.Contains(line, lacksRight) {
			t.Errorf("said again: %s", line)
		}
	}
}

// TestARightIsTakenUpWithoutARestart: one that is taken away and given back under a process that runs, as readiness and
// doctor say it.
func TestARightIsTakenUpWithoutARestart(t *testing.T) {
	server := etcd.Start(t, program.OwnHost(), etcd.Tokens(300))
	server.Users(t, "millrace", "secret", "/millrace/")
	m := newMachine(t, fmt.Sprintf("etcd: {endpoints: [%q], username: millrace, password_file: etcd.pw}\n", server.URL))
	m.write(filepath.Join(filepath.Dir(m.file), "etcd.pw"), "secret\n")
	m.hosted(func(p *process) {
		await.True(t, "the process is ready", func() bool { return p.ready(t.Context()) == nil })
		freeze := func() error {
			api := pushv1connect.NewChangeServiceClient(p.local.Client(), rpc.LocalURL)
			_, err := api.Freeze(t.Context(), connect.NewRequest(&pushv1.FreezeRequest{By: "ann", Reason: "works"}))
			return err
		}
		server.Revoke(t, "millrace", "/millrace/")
		server.Grant(t, "millrace", authpb.READ, "/millrace/")
		if err := freeze(); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("written without a right: %v", err)
		}
		await.True(t, "readiness says so", func() bool { return strings.Contains(fmt.Sprint(p.ready(t.Context())), lacksRight) })
		if out, err := m.run(t.Context(), "doctor", "--offline"); err == nil || !strings.Contains(out, lacksRight) {
			t.Errorf("doctor: %v\n%s", err, out)
		}
		server.Grant(t, "millrace", authpb.READWRITE, "/millrace/")
		await.True(t, "the process is ready again", func() bool { return p.ready(t.Context()) == nil })
		if err := freeze(); err != nil {
			t.Error(err)
		}
		if out, _ := m.run(t.Context(), "doctor", "--offline"); !strings.Contains(out, "ok       stores etcd") {
			t.Errorf("doctor:\n%s", out)
		}
	})
}
