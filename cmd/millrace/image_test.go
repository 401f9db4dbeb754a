package main

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/collectors/flow"
	"github.com/millrace/millrace/services/dashboard"
)

// TestTheImageHearsWhereItExposes: what reaches the container from outside comes to an address that is not its
// loopback, so an exposed port that only the loopback listens on reaches nothing. Nothing else is to listen for other
// hosts.
func TestTheImageHearsWhereItExposes(t *testing.T) {
	image := filepath.Join("..", "..", "deploy", "image")
	recipe, err := os.ReadFile(filepath.Join(image, "Containerfile"))
	if err != nil {
		t.Fatal(err)
	}
	var exposed []string
	for _, m := range regexp.MustCompile(`(?m)^EXPOSE (.*)$`).FindAllStringSubmatch(string(recipe), -1) {
		exposed = append(exposed, strings.Fields(m[1])...)
	}
	text, err := os.ReadFile(filepath.Join(image, "millrace.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	policies, err := filepath.Abs(filepath.Join("..", "..", "policies")) // rootfs.sh copies them
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "millrace.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "/etc/millrace/policies", policies)), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := loadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	var heard []string
	for _, l := range section[flow.Configuration](t, cfg, "flow").Listen {
		heard = append(heard, fromOutside(t, l, "/udp")...)
	}
	heard = append(heard, fromOutside(t, section[dashboard.Configuration](t, cfg, "dashboard").Listen, "")...)
	if !slices.Equal(exposed, heard) {
		t.Errorf("the image exposes %v, and %v are heard from outside", exposed, heard)
	}
	if !strings.Contains(string(recipe), "\nVOLUME "+cfg.DataDir+"\n") {
		t.Errorf("data_dir %s is no volume", cfg.DataDir)
	}
}

func section[C any](t *testing.T, cfg *config, service string) C {
	t.Helper()
	c, ok := cfg.document.Elem().FieldByName(fieldOf(service)).Interface().(C)
	if !ok {
		t.Fatalf("%s has another configuration", service)
	}
	return c
}

// fromOutside is the port of an address that other hosts reach, with its protocol.
func fromOutside(t *testing.T, listen, protocol string) []string {
	t.Helper()
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		t.Fatal(err)
	}
	if addr, err := netip.ParseAddr(host); host == "localhost" || err == nil && addr.IsLoopback() {
		return nil
	}
	return []string{port + protocol}
}
