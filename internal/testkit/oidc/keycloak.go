//go:build keycloak

package oidc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/child"
	"github.com/millrace/millrace/internal/testkit/ports"
)

// KeycloakVariable is the folder of Keycloak, as tools/oidc/keycloak.sh unpacks it.
const KeycloakVariable = "MILLRACE_KEYCLOAK"

// Keycloak is a running one, with the realm noc, the client millrace, and ann in the groups noc and noc-approvers.
type Keycloak struct {
	Issuer, Client, SecretFile string
	base                       string
}

const keycloakAdmin = "admin"

// StartKeycloak starts it with a fresh realm.
func StartKeycloak(t testing.TB, redirect string) *Keycloak {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "keycloak")
	if out, err := exec.Command("cp", "-a", os.Getenv(KeycloakVariable), folder).CombinedOutput(); err != nil {
		t.Fatalf("copy Keycloak from %s: %v %s", KeycloakVariable, err, out)
	}
	k := &Keycloak{Client: "millrace", SecretFile: filepath.Join(folder, "client-secret"), base: "http://" + ports.Loopback(t)}
	k.Issuer = k.base + "/realms/noc"
	imported := filepath.Join(folder, "data", "import")
	if err := os.MkdirAll(imported, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{k.SecretFile: Secret, filepath.Join(imported, "noc.json"): realm(redirect)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(k.base, "http://"), ":")
	cmd := exec.Command(filepath.Join(folder, "bin", "kc.sh"), "start-dev", "--db=dev-mem", "--http-host=127.0.0.1", "--http-port="+port, "--import-realm")
	cmd.Env = append(os.Environ(), "JAVA_OPTS_KC_HEAP=-Xms64m -Xmx400m", "KC_BOOTSTRAP_ADMIN_USERNAME="+keycloakAdmin, "KC_BOOTSTRAP_ADMIN_PASSWORD="+keycloakAdmin)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ended, err := child.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); <-ended }) // the script and its Java
	for end := time.Now().Add(starting); !k.answers(); time.Sleep(time.Second) {
		if time.Now().After(end) {
			said, _ := os.ReadFile(log.Name()) // for the message: as much as there is
			t.Fatalf("Keycloak does not answer after %s: %s", starting, said)
		}
	}
	return k
}

// starting is when a start is given up: it compiles itself first, for minutes on a busy machine.
const starting = 10 * time.Minute

func (k *Keycloak) answers() bool {
	r, err := http.Get(k.Issuer + "/.well-known/openid-configuration")
	if err != nil {
		return false
	}
	defer r.Body.Close()
	return r.StatusCode == http.StatusOK
}

// realm has groups in the id_token, as an operator sets it up.
func realm(redirect string) string {
	raw, err := json.Marshal(map[string]any{
		"realm": "noc", "enabled": true, "sslRequired": "none",
		"groups": []any{map[string]any{"name": "noc"}, map[string]any{"name": "noc-approvers"}},
		"users": []any{map[string]any{
			"username": "ann", "enabled": true, "email": "ann@example.net", "emailVerified": true, "firstName": "Ann", "lastName": "Operator",
			"groups": []string{"/noc", "/noc-approvers"}, "credentials": []any{map[string]any{"type": "password", "value": "any"}},
		}},
		"clients": []any{map[string]any{
			"clientId": "millrace", "secret": Secret, "publicClient": false, "standardFlowEnabled": true, "redirectUris": []string{redirect},
			"attributes": map[string]string{"oauth2.device.authorization.grant.enabled": "true", "pkce.code.challenge.method": "S256"},
			"protocolMappers": []any{map[string]any{
				"name": "groups", "protocol": "openid-connect", "protocolMapper": "oidc-group-membership-mapper",
				"config": map[string]string{"claim.name": "groups", "full.path": "false", "id.token.claim": "true", "userinfo.token.claim": "true"},
			}},
		}},
	})
	if err != nil {
		panic(err) // of texts
	}
	return string(raw)
}

// Leave takes ann out of a group.
func (k *Keycloak) Leave(t testing.TB, group string) {
	t.Helper()
	token := struct {
		Access string `json:"access_token"`
	}{}
	form := url.Values{"client_id": {"admin-cli"}, "grant_type": {"password"}, "username": {keycloakAdmin}, "password": {keycloakAdmin}}
	k.call(t, "", http.MethodPost, "/realms/master/protocol/openid-connect/token", form.Encode(), &token)
	var users, groups []struct{ ID, Name, Username string }
	k.call(t, token.Access, http.MethodGet, "/admin/realms/noc/users?username=ann&exact=true", "", &users)
	k.call(t, token.Access, http.MethodGet, "/admin/realms/noc/users/"+users[0].ID+"/groups", "", &groups)
	for _, g := range groups {
		if g.Name == group {
			k.call(t, token.Access, http.MethodDelete, fmt.Sprintf("/admin/realms/noc/users/%s/groups/%s", users[0].ID, g.ID), "", nil)
			return
		}
	}
	t.Fatalf("ann is in no group %s: %v", group, groups)
}

func (k *Keycloak) call(t testing.TB, token, method, path, body string, into any) {
	t.Helper()
	q, err := http.NewRequest(method, k.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var raw bytes.Buffer
	if _, err := raw.ReadFrom(r.Body); err != nil || r.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %s %v", method, path, r.Status, raw.String(), err)
	}
	if into != nil {
		if err := json.Unmarshal(raw.Bytes(), into); err != nil {
			t.Fatalf("%s: %v", raw.String(), err)
		}
	}
}
