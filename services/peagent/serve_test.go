package peagent

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/bounds"
	testports "github.com/millrace/millrace/internal/testkit/ports"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

// served is an agent that only serves.
func served(t *testing.T, change func(*Configuration)) *Agent {
	t.Helper()
	cfg := DefaultConfiguration()
	cfg.State = ""
	change(&cfg)
	a := newAgent(cfg, Dependencies{})
	t.Cleanup(func() { a.Stop(t.Context()) })
	if err := a.serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestListenIsGuarded: a page that rebinds its name to a router reaches nothing, and nobody installs weights without
// TLS.
func TestListenIsGuarded(t *testing.T) {
	address := testports.Loopback(t)
	a := served(t, func(c *Configuration) { c.Listen, c.Hosts = address, []string{"pe1.example.net"} })
	for _, tt := range []struct {
		procedure, host string
		want            int
	}{
		{vpnv1connect.VpnServiceSetWeightsProcedure, "evil.example", http.StatusMisdirectedRequest},
		{vpnv1connect.VpnServiceSetWeightsProcedure, "pe1.example.net:4756", http.StatusOK},
		{vpnv1connect.VpnServiceSetWeightsProcedure, "", http.StatusOK},
		{vpnv1connect.VpnAgentServiceInstallProcedure, "", http.StatusNotFound},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+tt.procedure, bytes.NewReader([]byte("{}")))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = tt.host
		r.Header.Set("Content-Type", "application/json")
		out, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		out.Body.Close()
		if out.StatusCode != tt.want {
			t.Errorf("%s with host %q: %s, want %d", tt.procedure, tt.host, out.Status, tt.want)
		}
	}
	if n := testutil.ToFloat64(a.metrics.refused.WithLabelValues("unknown-host")); n != 1 {
		t.Errorf("%v refusals counted, want 1", n)
	}
}

// TestWhoMayDoWhat is the table of control: a certificate of the CA, such as another router's, is not enough.
func TestWhoMayDoWhat(t *testing.T) {
	p := newControlPort(t, "controllers: [controller], roles: {watcher: viewer}")
	const denied, unknown = connect.CodePermissionDenied, connect.CodeUnimplemented
	for name, want := range map[string]struct{ read, write, other connect.Code }{
		"pe2": {denied, denied, denied}, "watcher": {0, denied, unknown}, "controller": {0, 0, unknown},
	} {
		client := p.client(t, name)
		_, installed := vpnv1connect.NewVpnAgentServiceClient(client, p.url).Install(t.Context(), installation(1))
		weights := vpnv1connect.NewVpnServiceClient(client, p.url)
		_, set := weights.SetWeights(t.Context(), connect.NewRequest(&vpnv1.SetWeightsRequest{}))
		_, read := weights.Weights(t.Context(), connect.NewRequest(&vpnv1.WeightsRequest{}))
		_, flows := weights.Flows(t.Context(), connect.NewRequest(&vpnv1.FlowsRequest{}))
		_, history := weights.History(t.Context(), connect.NewRequest(&vpnv1.HistoryRequest{}))
		for call, got := range map[string]struct{ err, want connect.Code }{
			"Install": {code(installed), want.write}, "SetWeights": {code(set), want.write}, "Weights": {code(read), want.read}, "Flows": {code(flows), want.read}, "History": {code(history), want.other},
		} {
			if got.err != got.want {
				t.Errorf("%s calls %s: %v, want %v", name, call, got.err, got.want)
			}
		}
		page, err := client.Get(p.url + "/ready")
		if err != nil {
			t.Fatal(err)
		}
		page.Body.Close()
		if got := page.StatusCode == http.StatusForbidden; got != (want.read == denied) {
			t.Errorf("%s reads /ready: %s", name, page.Status)
		}
	}
	for reason, want := range map[string]float64{"no-role": 6, "role": 2, "no-such-call": 2} {
		if n := testutil.ToFloat64(p.agent.metrics.refused.WithLabelValues(reason)); n != want {
			t.Errorf("%v refusals counted for %s, want %v", n, reason, want)
		}
	}
	if n := p.log.count("event=refused"); n != 10 {
		t.Errorf("%d lines of refusals", n)
	}
}

// TestRolesAreReadAgain: the file is replaced, and the next call goes by it; one that cannot be used replaces nothing.
func TestRolesAreReadAgain(t *testing.T) {
	p := newControlPort(t, "controllers: [controller]")
	install := func(name string) connect.Code {
		_, err := vpnv1connect.NewVpnAgentServiceClient(p.client(t, name), p.url).Install(t.Context(), installation(1))
		return code(err)
	}
	for _, step := range []struct {
		control     string
		first, next connect.Code
		refused     float64
	}{
		{"controllers: [controller]", 0, connect.CodePermissionDenied, 0},
		{"controllers: [next]", connect.CodePermissionDenied, 0, 0},
		{"controllers: []", connect.CodePermissionDenied, 0, 1},
		{"roles: {controller: operator, next: viewer}", 0, connect.CodePermissionDenied, 0},
	} {
		p.write(t, step.control)
		if first, next := install("controller"), install("next"); first != step.first || next != step.next {
			t.Errorf("%s: controller %v, next %v; want %v, %v", step.control, first, next, step.first, step.next)
		}
		if got := testutil.ToFloat64(p.agent.metrics.rolesRefused); got != step.refused {
			t.Errorf("%s: refused %v", step.control, got)
		}
	}
}

// TestARevokedControllerLosesItsConnection, which is open, and cannot open another.
func TestARevokedControllerLosesItsConnection(t *testing.T) {
	p := newControlPort(t, "controllers: [controller]")
	cert, err := tls.LoadX509KeyPair(p.ca.Issue(t, "controller"))
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{RootCAs: p.ca.Pool(), Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"}}
	conn, err := tls.Dial("tcp", strings.TrimPrefix(p.url, "https://"), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	answer, err := http.ReadResponse(in, nil)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer, err)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Fatal(err)
	}
	p.ca.Revoke(t, p.agent.cfg.Control.CRL, time.Now().Add(time.Hour), filepath.Join(filepath.Dir(p.ca.CA), "controller.pem"))
	p.agent.credentials.Look()
	if _, err := in.ReadByte(); err == nil {
		t.Error("the connection is open")
	}
	again, err := tls.Dial("tcp", strings.TrimPrefix(p.url, "https://"), config)
	if err == nil {
		defer again.Close()
		_, err = again.Read(make([]byte, 1)) // a server's refusal comes after the handshake
	}
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a revoked certificate opens another: %v", err)
	}
}

// TestChangesOfOneControllerArePaced, and those of another are not held up.
func TestChangesOfOneControllerArePaced(t *testing.T) {
	p := newControlPort(t, "controllers: [greedy, controller]", func(a *Agent) {
		a.clients = bounds.NewClients(bounds.Limits{Calls: 2, Changes: 1, PerSecond: 1e-6, Burst: 2})
	})
	set := func(name string) connect.Code {
		_, err := vpnv1connect.NewVpnServiceClient(p.client(t, name), p.url).SetWeights(t.Context(), connect.NewRequest(&vpnv1.SetWeightsRequest{}))
		return code(err)
	}
	for i, want := range []connect.Code{0, 0, connect.CodeResourceExhausted} {
		if got := set("greedy"); got != want {
			t.Errorf("change %d: %v, want %v", i, got, want)
		}
	}
	if got := set("controller"); got != 0 {
		t.Errorf("another controller: %v", got)
	}
	_, read := vpnv1connect.NewVpnServiceClient(p.client(t, "greedy"), p.url).Weights(t.Context(), connect.NewRequest(&vpnv1.WeightsRequest{}))
	if n := testutil.ToFloat64(p.agent.metrics.refused.WithLabelValues("rate")); n != 1 || read != nil {
		t.Errorf("%v refusals counted, reading: %v", n, read)
	}
}

// code of an error; 0 of none.
func code(err error) connect.Code {
	if err == nil {
		return 0
	}
	return connect.CodeOf(err)
}
