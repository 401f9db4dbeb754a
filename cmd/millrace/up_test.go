package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckRefusesWhatTheStartRefuses: the check called a configuration complete whose start ended at its inventory.
func TestCheckRefusesWhatTheStartRefuses(t *testing.T) {
	const router = `devices: [{name: WR, address: "192.0.2.1:9339", exporters: [192.0.2.1]}]`
	for _, c := range []struct{ inventory, says string }{
		{"devices: []", ""},
		{"", ""},
		{router, "must name ca, cert and key"},
		{router + "\ntls: {ca: ca.crt, cert: c.crt}", "must name ca, cert and key"},
		{router + "\ntls: {ca: ca.crt, cert: c.crt, key: c.key}", ""}, // the files are those of the host it runs on
		{"devices: [{name: WR}]", "device WR has no address"},
	} {
		folder := t.TempDir()
		file := filepath.Join(folder, "inventory.yaml")
		if err := os.WriteFile(file, []byte(c.inventory), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checkInventory(file); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: got %v, want %q", c.inventory, err, c.says)
		}
	}
	if err := checkInventory(filepath.Join(t.TempDir(), "inventory.yaml")); err != nil {
		t.Errorf("an inventory on another host: %v", err)
	}
}
