package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/logging"
	"github.com/millrace/millrace/proto/gen/millrace/twin/v1/twinv1connect"
)

// serving is a process that hosts one service, not started.
func serving(t *testing.T, name string, endpoints ...string) *process {
	t.Helper()
	cfg := defaultConfig(t.TempDir())
	cfg.Endpoints = map[string]addresses{}
	for _, e := range endpoints {
		cfg.Endpoints[e] = addresses{"http://127.0.0.1:1"}
	}
	memory := bus.NewMemory()
	t.Cleanup(func() { memory.Close() })
	log := logging.New(cfg.Log, io.Discard)
	return &process{
		cfg: cfg, hosted: map[string]bool{name: true}, mux: http.NewServeMux(), bus: memory, devices: &device.Inventory{},
		log: log.Logger, logging: log, metrics: prometheus.NewRegistry(), remotes: map[string]*http.Client{},
	}
}

func TestAServiceStartsWithThoseItNeeds(t *testing.T) {
	for _, tc := range []struct {
		name, service string
		endpoints     []string
		says          string
	}{
		{"push without a policy service", "push", nil, "set endpoints.policy"},
		{"push without a twin", "push", []string{"policy"}, ""},
		{"push with a twin", "push", []string{"policy", "twin"}, ""},
		{"a twin without a flow store", "twin", nil, ""},
		{"a policy service without paths", "policy", []string{"alpha"}, "set endpoints.paths"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := serving(t, tc.service, tc.endpoints...).assemble()
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}

func TestTheClientOfAServiceThatIsNotThereIsNil(t *testing.T) {
	if c := optional(serving(t, "push"), "twin", twinv1connect.NewTwinServiceClient); c != nil {
		t.Errorf("without an endpoint: %v", c)
	}
	if c := optional(serving(t, "push", "twin"), "twin", twinv1connect.NewTwinServiceClient); c == nil {
		t.Error("with an endpoint: no client")
	}
}

func TestTheTableNamesServicesThatExist(t *testing.T) {
	for _, s := range services() {
		for _, other := range append(s.needs, s.uses...) {
			if err := knownEndpoints(map[string]addresses{other: nil}); err != nil {
				t.Errorf("row %s: %v", s.name, err)
			}
		}
	}
}

func TestAnEndpointOfNoServiceIsRefused(t *testing.T) {
	for text, says := range map[string]string{
		"endpoints: {push: 'http://127.0.0.1:1'}":  "",
		"endpoints: {twinn: 'http://127.0.0.1:1'}": "endpoints.twinn: no service is called twinn; there are ",
	} {
		file := filepath.Join(t.TempDir(), "millrace.yaml")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := loadConfig(file); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", text, err, says)
		}
	}
}
