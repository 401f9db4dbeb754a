package routeragent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"

	"github.com/millrace/millrace/internal/testkit/await"
)

// negotiate is what the driver of a port reports, in Mbit/s. It is there whole or not at all.
func (x *target) negotiate(port, speed string) {
	x.Helper()
	dir := filepath.Join(x.drivers, port)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		x.Fatal(err)
	}
	next := filepath.Join(x.drivers, "next")
	if err := os.WriteFile(next, []byte(speed+"\n"), 0o600); err != nil {
		x.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(dir, "speed")); err != nil {
		x.Fatal(err)
	}
}

// The scheduler of a port works with the speed that the port has, on a router without LSPs too.
func TestAPortNegotiatesAnotherSpeed(t *testing.T) {
	x := newTarget(t)
	x.stop()
	delete(x.cfg.Interfaces, "ge-b")
	x.drivers = t.TempDir()
	x.negotiate("ge-b", "100")
	x.start()
	wantCode(t, x.set(x.noLSP(hntes("95"))), codes.OK)
	x.router.In("ip", "link", "set", "ge-b", "down")
	x.negotiate("ge-b", "10")
	x.router.In("ip", "link", "set", "ge-b", "up")
	await.True(t, "the scheduler works with the new speed, and the router is in sync", func() bool {
		got, err := x.get(gnmi.GetRequest_STATE, inSync)
		classes := x.router.In("tc", "class", "show", "dev", "ge-b")
		return err == nil && got == "true" && strings.Contains(classes, "rate 9500Kbit ceil 10Mbit") && !strings.Contains(classes, "100Mbit")
	})
}
