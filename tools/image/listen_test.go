package main

import (
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-containerregistry/pkg/v1/empty"

	"github.com/millrace/millrace/collectors/flow"
	"github.com/millrace/millrace/services/dashboard"
)

// TestTheImageHearsWhereItExposes (review D6): what reaches the container from outside comes to an address that is not
// its loopback, so an exposed port that only the loopback listens on reaches nothing. Nothing else is to listen for
// other hosts.
func TestTheImageHearsWhereItExposes(t *testing.T) {
	run := options{platform: "amd64"}.configured(empty.Image).Config
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "image", "millrace.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := struct {
		DataDir   string                  `yaml:"data_dir"`
		Flow      flow.Configuration      `yaml:"flow"`
		Dashboard dashboard.Configuration `yaml:"dashboard"`
	}{"", flow.DefaultConfiguration(), dashboard.DefaultConfiguration()}
	if err := yaml.Unmarshal(text, &cfg); err != nil {
		t.Fatal(err)
	}
	heard := fromOutside(t, "", cfg.Dashboard.Listen)
	for _, l := range cfg.Flow.Listen {
		heard = append(heard, fromOutside(t, "/udp", l)...)
	}
	if exposed := slices.Sorted(maps.Keys(run.ExposedPorts)); !slices.Equal(exposed, heard) {
		t.Errorf("the image exposes %v, and %v are heard from outside", exposed, heard)
	}
	if _, ok := run.Volumes[cfg.DataDir]; !ok {
		t.Errorf("data_dir %s is no volume: %v", cfg.DataDir, run.Volumes)
	}
}

// fromOutside is the port of an address to listen on, unless only this host reaches it.
func fromOutside(t *testing.T, protocol, listen string) []string {
	t.Helper()
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := netip.ParseAddr(host); host == "localhost" || err == nil && a.IsLoopback() {
		return nil
	}
	return []string{port + protocol}
}
