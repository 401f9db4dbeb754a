// Package page drives pages of the dashboard in a real browser against the whole program: logins, the circuit service
// with its book in etcd, the paths service, and routers that are read over gNMI.
//
// In: the millrace binary with the page inside (MILLRACE_BINARY, or built here), Chromium, Node.js, and the recorded
// database of three routers.
// Out: what people of different rights do with circuits and maintenance works, and what they may not do is refused; and
// 255 pages that are opened at once, without a browser, are all served whole.
// Next: services/dashboard/web/e2e, which has the steps; its other scenarios run over made-up services.
package page

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/threerouters"
)

const root = "../.."

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// config has a soft cap of 50 Mbit/s and a hard one of 80 on links of 100; noc is an operator of circuits.
const config = `
data_dir: %[1]s
inventory: inventory.yaml
identity: {mode: on, url: "http://%[2]s:8080"}
dashboard: {listen: "%[2]s:8080"}
flow: {listen: ["%[2]s:2055"]}
alpha: {nightly_at: ""}
topology: {interval: 1s}
circuits:
  topology: 1s
  hard_share: 800
  operators: [noc]
  projects: {astro: {members: [ann]}}
`

// What people do with circuits on the page, each with their own rights.
func TestCircuitsAndMaintenance(t *testing.T) {
	program.NeedLibrary(t)
	folder, host := t.TempDir(), program.OwnHost()
	threerouters.Write(t, folder)
	file := filepath.Join(folder, "millrace.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, folder, host), 0o600); err != nil {
		t.Fatal(err)
	}
	up := program.Start(t, folder, "up", program.Path, "up", "--config", file)
	t.Cleanup(func() { up.Signal(t, syscall.SIGTERM) })
	up.WaitReady(t, "http://"+host+":8080")
	ctx, cancel := context.WithTimeout(t.Context(), 5*program.Patience)
	defer cancel()
	browser := exec.CommandContext(ctx, "node", "services/dashboard/web/e2e/maintain.mjs", "--link", loginLink(t, up))
	browser.Dir = root
	if out, err := browser.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, up.Tail())
	}
}

// loginLink is what the first start prints, for the person admin.
func loginLink(t *testing.T, up *program.Process) (link string) {
	t.Helper()
	program.Until(t, "a login link is printed", func() (bool, any) {
		said, err := os.ReadFile(up.Log)
		link = regexp.MustCompile(`http:\S+#login=\S+`).FindString(string(said))
		return link != "", err
	})
	return link
}
