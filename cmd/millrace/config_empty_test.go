package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// TestAFileThatSaysNothingHasTheDefaults: it was refused, because its decoder made every default zero.
func TestAFileThatSaysNothingHasTheDefaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "millrace.yaml")
	loaded := map[string]string{}
	for _, text := range []string{"", "\n", "# data_dir: /srv\n", "---\n", "null\n", "inventory: inventory.yaml\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := loadConfig(file)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		dump, err := yaml.Marshal(cfg.document.Interface())
		if err != nil {
			t.Fatal(err)
		}
		loaded[text] = string(dump)
	}
	for text, is := range loaded {
		if d := cmp.Diff(is, loaded["inventory: inventory.yaml\n"]); d != "" {
			t.Errorf("%q (-got +with one key):\n%s", text, d)
		}
	}
}
