package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each file that is wrong is named, and what is right is not.
func TestConfigurationsOfAgentsAreChecked(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const router = "name: a\ntls: {cert: /a, key: /a, ca: /a}\nroles: {controller: operator}\n"
	right, misspelt, nameless := file("right.yaml", router), file("misspelt.yaml", router+"metrix: a:1\n"), file("nameless.yaml", "roles: {controller: operator}\n")
	pe := file("pe.yaml", "pe: 192.0.2.1\ncore: [eth1]\nkeys: /k\nvpns: [{name: red, id: 1, ports: [eth2]}]\n")
	coreless := file("coreless.yaml", "pe: 192.0.2.1\nkeys: /k\nvpns: [{name: red, id: 1, ports: [eth2]}]\n")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"agent", "check", right}, nil},
		{[]string{"agent", "check", right, misspelt, nameless}, []string{"misspelt.yaml", "metrix", "nameless.yaml", "name is missing"}},
		{[]string{"pe", "check", pe}, nil},
		{[]string{"pe", "check", pe, coreless}, []string{"coreless.yaml", "core: name at least one port"}},
	} {
		cmd := root()
		cmd.SetArgs(c.args)
		err := cmd.ExecuteContext(t.Context())
		if len(c.want) == 0 {
			if err != nil {
				t.Errorf("%q: %v", c.args, err)
			}
			continue
		}
		if err == nil || exitCode(err) != exitUsage || strings.Contains(err.Error(), "right.yaml") {
			t.Errorf("%q: %v", c.args, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q says nothing of %q: %v", c.args, want, err)
			}
		}
	}
}
