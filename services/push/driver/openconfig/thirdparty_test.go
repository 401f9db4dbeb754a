package openconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/thirdparty"
	"github.com/millrace/millrace/services/push/driver"
)

// gnxi's gnmi_target lacks the models that are needed and answers OK to a commit extension that it does not
// implement: a driver must notice both.
func TestARouterThatWouldKeepEveryChangeIsFoundOut(t *testing.T) {
	ca := pki.New(t)
	cert, key := ca.Issue(t, "target", "127.0.0.1")
	config := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(config, []byte(`{"openconfig-system:system":{"config":{"hostname":"sw1"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	d := device.Device{Name: "sw1", Address: thirdparty.Server(t, "bin/gnmi_target", func(host string, port int) []string {
		return []string{"-bind_address", host + ":" + strconv.Itoa(port), "-config", config, "-ca", ca.CA, "-cert", cert, "-key", key}
	})}
	creds := ca.Client(t, "controller")
	_, err := Opener{Credentials: creds}.Open(t.Context(), d)
	if err == nil || !strings.Contains(err.Error(), "openconfig-defined-sets") {
		t.Errorf("Open: %v, want a refusal that names the missing model", err)
	}
	c, err := gnmiclient.Dial(t.Context(), d, creds)
	if err != nil {
		t.Fatal(err)
	}
	r := &router{driver.CommitConfirm{Name: d.Name, Client: c}}
	defer r.Close()
	if err := r.Probe(t.Context()); !errors.Is(err, driver.ErrNoCommitConfirm) {
		t.Errorf("Probe: %v, want %v", err, driver.ErrNoCommitConfirm)
	}
}
