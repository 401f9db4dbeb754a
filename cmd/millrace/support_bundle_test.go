package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/logins"
	"github.com/millrace/millrace/internal/testkit/archive"
	"github.com/millrace/millrace/internal/testkit/pki"
)

// planted are secrets of every kind. Each holds this word, so that a part of one would be found as well.
const planted = "Xq7Planted"

// plant writes an installation whose every file has secrets: a configuration with these endpoints of etcd, an
// inventory, a log, a login.
func plant(t *testing.T, endpoints string) (folder string, args []string) {
	t.Helper()
	folder = t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		return file
	}
	t.Setenv("XDG_CONFIG_HOME", folder)
	t.Setenv(logins.Variable, "mrt_env_"+planted+"1")
	write("millrace/tokens.json", `{"http://elsewhere": "mrt_saved_`+planted+`2"}`)
	authority := pki.New(t)
	cert, key := authority.Issue(t, "millrace")
	write("router.pw", planted+"3 with two words\n")
	write("store.pw", planted+"4\n")
	write("etcd.pw", planted+"16 with two words\n")
	write("kafka.pw", planted+"17 with two words\n")
	config := write("millrace.yaml", `# a comment with `+planted+`5
data_dir: `+folder+`
inventory: inventory.yaml
flowstore: {store: {servers: ["127.0.0.1:1"], username: u, password_file: store.pw}}
etcd: {endpoints: ["`+endpoints+`"], username: u, password_file: etcd.pw}
kafka: {brokers: ["127.0.0.1:1"], sasl: {mechanism: SCRAM-SHA-512, username: u, password_file: kafka.pw}}
`)
	write("inventory.yaml", fmt.Sprintf("tls: {ca: %q, cert: %q, key: %q}\ndevices:\n  - {name: J, address: \"127.0.0.1:1\", loopback: 192.0.2.1, os: junos, username: noc, password_file: router.pw}\n", authority.CA, cert, key))
	pem, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	log := write("millrace.log", strings.Join([]string{
		"login link http://localhost:8080/#login=mrl_" + planted + "7",
		`msg=request header="Authorization: Bearer ` + planted + `8"`,
		`{"password":"` + planted + `9","x":1}`,
		"the router's password is " + planted + "3 with two words, said somebody",
		"etcd's is " + planted + "16 with two words, Kafka's " + planted + "17 with two words",
		"nfs://user:" + planted + "10@host/",
		"api_key=" + planted + "11&a=b",
		string(pem),
		"-----BEGIN RSA PRIVATE KEY-----\n" + planted + "12",
	}, "\n"))
	return folder, []string{"--config", config, "--log", log}
}

// TestNoSecretIsInTheBundle asks a server that gives secrets away, of an installation that is full of them, and of one
// whose configuration is refused.
func TestNoSecretIsInTheBundle(t *testing.T) {
	t.Run("configuration", func(t *testing.T) { bundleWithoutSecrets(t, "http://127.0.0.1:1") })
	t.Run("configuration that is refused", func(t *testing.T) { bundleWithoutSecrets(t, "http://root:"+planted+"6@127.0.0.1:1") })
}

// The inventory is found by its line where a configuration is none.
func TestTheInventoryOfAConfigurationThatIsNone(t *testing.T) {
	folder := t.TempDir()
	for text, want := range map[string]string{
		"a: [\ninventory: devices.yaml # of all\n":     filepath.Join(folder, "devices.yaml"),
		"{\ninventory: \"/etc/millrace/devices.yaml\"": "/etc/millrace/devices.yaml",
		"unknown_key: 1\ninventory: 'x.yaml'\n":        filepath.Join(folder, "x.yaml"),
		"a: [\n  inventory: other.yaml\n":              "",
	} {
		file := filepath.Join(folder, "millrace.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := inventoryOf(file); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := inventoryOf(filepath.Join(folder, "none.yaml")); got != "" {
		t.Errorf("without a file: %q", got)
	}
}

func bundleWithoutSecrets(t *testing.T, endpoints string) {
	t.Helper()
	folder, args := plant(t, endpoints)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "# HELP x token=%s13\nmillrace_x{url=\"https://a:%s14@b/\",authorization=\"%s\"} 1\n", planted, planted, r.Header.Get("Authorization"))
	}))
	t.Cleanup(server.Close)
	output := filepath.Join(folder, "bundle.tar.gz")
	var said bytes.Buffer
	cmd := root()
	cmd.SetArgs(append([]string{"support-bundle", "--server", server.URL, "--output", output}, args...))
	cmd.SetOut(&said)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(lastKey(t, filepath.Join(folder, "inventory.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	files := untar(t, output)
	for name, text := range files {
		for _, secret := range append(strings.Split(strings.TrimSpace(string(key)), "\n")[1:2], planted, "with two words") {
			if strings.Contains(text, secret) {
				t.Errorf("%s has %q:\n%s", name, secret, text)
			}
		}
	}
	for _, name := range []string{"doctor.json", "version.json", "configuration/millrace.yaml", "configuration/inventory.yaml", "logs/1-millrace.log", "server/metrics", "server/goroutines", "server/changes.json.missing"} {
		if files["millrace-support/"+name] == "" {
			t.Errorf("%s is missing or empty; there are\n%s", name, said.String())
		}
	}
	if text := files["millrace-support/logs/1-millrace.log"]; !strings.Contains(text, "said somebody") {
		t.Errorf("the log lost what is no secret:\n%s", text)
	}
	if info, err := os.Stat(output); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the bundle is %v (%v), want it readable for its owner only", info.Mode(), err)
	}
}

// lastKey is the file of the key that an inventory names.
func lastKey(t *testing.T, inventory string) string {
	t.Helper()
	raw, err := os.ReadFile(inventory)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), `key: "`)
	file, _, _ := strings.Cut(rest, `"`)
	return file
}

func untar(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return archive.Files(t, f)
}
