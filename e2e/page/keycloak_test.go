//go:build keycloak

package page

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/millrace/millrace/internal/testkit/oidc"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/threerouters"
)

// byKeycloak has two groups with a role.
const byKeycloak = `
data_dir: %[1]s
inventory: inventory.yaml
identity:
  mode: on
  url: "http://%[2]s:8080"
  oidc:
    issuer: %[3]s
    title: Keycloak
    client_id: %[4]s
    client_secret_file: %[5]s
    roles: {noc: viewer, noc-approvers: approver}
dashboard: {listen: "%[2]s:8080"}
flow: {listen: ["%[2]s:2055"]}
alpha: {nightly_at: ""}
`

// A login in Chromium by another provider than the one of web/e2e; `make keycloak` runs it.
func TestKeycloakInABrowser(t *testing.T) {
	program.NeedLibrary(t)
	folder, host := t.TempDir(), program.OwnHost()
	threerouters.Write(t, folder)
	base := "http://" + host + ":8080"
	k := oidc.StartKeycloak(t, base+"/")
	file := filepath.Join(folder, "millrace.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, byKeycloak, folder, host, k.Issuer, k.Client, k.SecretFile), 0o600); err != nil {
		t.Fatal(err)
	}
	up := program.Start(t, folder, "up", program.Path, "up", "--config", file)
	t.Cleanup(func() { up.Signal(t, syscall.SIGTERM) })
	up.WaitReady(t, base)
	ctx, cancel := context.WithTimeout(t.Context(), 5*program.Patience)
	defer cancel()
	browser := exec.CommandContext(ctx, "node", "services/dashboard/web/e2e/keycloak.mjs", "--url", base)
	browser.Dir = root
	if out, err := browser.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, up.Tail())
	}
}
