package plane

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/faults"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

// PE is a provider edge's agent that takes weights and has no traffic; the real one is in e2e/vpn.
type PE struct {
	vpnv1connect.UnimplementedVpnServiceHandler
	Link *faults.Link

	mu  sync.Mutex
	has *vpnv1.InstallRequest
}

// newPE serves an agent until the test ends.
func (p *Plane) newPE(t *testing.T, name string) *PE {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(p.Host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	pe := &PE{Link: p.Link(t, l.Addr().String())}
	mux := http.NewServeMux()
	mux.Handle(vpnv1connect.NewVpnServiceHandler(pe, rpc.Bounded(rpc.MaxRequest)))
	mux.Handle(vpnv1connect.NewVpnAgentServiceHandler(pe, rpc.Bounded(rpc.MaxRequest)))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: rpc.HeaderPatience, TLSConfig: p.Server(t, name)}
	t.Cleanup(func() { _ = server.Close() })
	go server.ServeTLS(l, "", "") //nolint:errcheck // ends with the test
	return pe
}

// Flows implements VpnService: the names of two VPNs, without traffic.
func (a *PE) Flows(context.Context, *connect.Request[vpnv1.FlowsRequest]) (*connect.Response[vpnv1.FlowsResponse], error) {
	return connect.NewResponse(&vpnv1.FlowsResponse{Mode: "edt", Vpns: []string{"red", "blue"}, Version: a.Has().GetVersion()}), nil
}

// Install implements VpnAgentService.
func (a *PE) Install(_ context.Context, r *connect.Request[vpnv1.InstallRequest]) (*connect.Response[vpnv1.InstallResponse], error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.has = r.Msg
	return connect.NewResponse(&vpnv1.InstallResponse{Version: r.Msg.GetVersion()}), nil
}

// Has is what was installed last; nil before the first.
func (a *PE) Has() *vpnv1.InstallRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.has
}
