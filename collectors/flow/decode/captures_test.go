package decode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// capture reads the datagrams of one exporter in their order. The README beside
// them says how they were made.
func capture(t testing.TB, name string) [][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "*", name+"-[0-9][0-9].bin"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no capture %s: %v", name, err)
	}
	var all [][]byte
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, raw)
	}
	return all
}

func allCaptures(t testing.TB) (all [][]byte) {
	t.Helper()
	for _, session := range captureSessions(t) {
		all = append(all, session...)
	}
	return all
}

// captureSessions are the captures, each of one exporter.
func captureSessions(t testing.TB) (all [][][]byte) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "*", "*.bin"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, p := range paths {
		name := filepath.Base(p)[:strings.LastIndex(filepath.Base(p), "-")]
		if !names[name] {
			names[name] = true
			all = append(all, capture(t, name))
		}
	}
	return all
}
