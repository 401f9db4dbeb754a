package routeragent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

func writeFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestUsersFilesThatAreRefused(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("x"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	good := "password: " + string(hash) + ", role: viewer}"
	for name, c := range map[string]struct{ text, want string }{
		"a password in the clear": {"users: [{name: a, password: secret, role: viewer}]", "bcrypt"},
		"no name":                 {"users: [{" + good + "]", "name of its own"},
		"a name twice":            {"users: [{name: a, " + good + ", {name: a, " + good + "]", "name of its own"},
		"a role nobody has":       {"users: [{name: a, password: " + string(hash) + ", role: root}]", "viewer or operator"},
		"a key that is misspelt":  {"users: [{nam: a, " + good + "]", "nam"},
		"a file that was emptied": {"", "no list of users"},
	} {
		if _, err := readUsers(writeFile(t, c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		} else if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), string(hash)) {
			t.Errorf("%s: the error shows a password: %v", name, err)
		}
	}
	if _, err := readUsers(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a users file that is not there is ignored")
	}
	u, err := readUsers("")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := u.login("", ""); ok {
		t.Error("without users an empty name logs in")
	}
}

func TestConfigurationsOfAccessThatAreRefused(t *testing.T) {
	const start = "name: r1\ntls: {cert: a, key: b, ca: c"
	for name, c := range map[string]struct{ text, want string }{
		"certificates optional and no users": {start + ", client_certificates: optional}", "nobody could log in"},
		"certificates never":                 {start + ", client_certificates: never}", "required or optional"},
		"no TLS":                             {"name: r1", "no plaintext mode"},
		"no roles":                           {start + "}", "roles: {controller: operator}"},
		"a role nobody has":                  {start + "}\nunit_roles: {te: root}", "viewer or operator"},
		"an overdue CRL good for nothing":    {start + ", crl_overdue: ignore}\nroles: {a: viewer}", "write use or refuse"},
		"fewer Sets than none":               {start + "}\nroles: {a: viewer}\nsets_per_second: -1", "positive number"},
	} {
		if _, err := Load(writeFile(t, c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
