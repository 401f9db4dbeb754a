package topology_test

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/collectors/topology"
	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/pki"
	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
	"github.com/millrace/millrace/proto/gen/millrace/topology/v1/topologyv1connect"
	"github.com/millrace/millrace/services/routeragent"
	"github.com/millrace/millrace/services/routeragent/labtest"
)

// The real agent over gNMI, with the recorded output of a real FRR: the kernel of a test has no MPLS for
// FRR to run segment routing on.
func TestARealAgentsDatabaseIsRead(t *testing.T) {
	inv := agent(t)
	creds, err := inv.ClientTLS()
	if err != nil {
		t.Fatal(err)
	}
	b := bus.NewMemory()
	defer b.Close()
	c, err := topology.New(topology.DefaultConfiguration(), topology.Dependencies{
		Inventory: inv, TLS: creds, Bus: b, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, handler := c.Handler()
	local := rpc.NewLocal(handler)
	defer local.Close()
	client := topologyv1connect.NewTopologyCollectorServiceClient(local.Client(), rpc.LocalURL)
	r, err := client.Refresh(t.Context(), connect.NewRequest(&topologyv1.RefreshRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	s := r.Msg.GetSnapshot()
	if s.GetArea() != "0.0.0.0" || len(s.GetNodes()) != 3 || len(s.GetLinks()) != 6 {
		t.Fatalf("area %s with %d nodes and %d links, want 0.0.0.0 with 3 and 6", s.GetArea(), len(s.GetNodes()), len(s.GetLinks()))
	}
	wr := s.GetNodes()[0]
	if wr.GetName() != "wr" || wr.GetSidLabel() != 16001 || len(wr.GetInterfaces()) != 3 || wr.GetInterfaces()[0].GetSpeed() != 100e6 {
		t.Errorf("first node %v, want wr with label 16001 and the ports of the agent's namespace", wr)
	}
}

func agent(t *testing.T) *device.Inventory {
	t.Helper()
	recorded, err := filepath.Abs("../../services/routeragent/frr/testdata/frr-8.4.4-three-routers.txt")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "vtysh"), []byte("#!/bin/sh\nexec cat "+recorded+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	authority := pki.New(t)
	cert, key := authority.Issue(t, "router", "127.0.0.1")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	router := labtest.NewRouter(t)
	a, err := routeragent.New(routeragent.Configuration{
		Name: "wr", DataDir: t.TempDir(),
		TLS:        routeragent.TLS{Cert: cert, Key: key, CA: authority.CA},
		Roles:      map[string]routeragent.Role{"controller": routeragent.RoleOperator},
		Interfaces: map[string]routeragent.Interface{"ge-a": {Speed: 100e6, Buffer: 1250000}, "ge-b": {Speed: 100e6, Buffer: 1250000}},
	}, routeragent.Dependencies{Log: slog.New(slog.DiscardHandler), Namespace: &router.NS, Listener: l})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Stop(context.Background()) })
	cert, key = authority.Issue(t, "controller")
	return &device.Inventory{
		TLS:     device.TLS{CA: authority.CA, Cert: cert, Key: key},
		Devices: []device.Device{{Name: "wr", Address: l.Addr().String(), Loopback: netip.MustParseAddr("10.255.0.1")}},
	}
}
