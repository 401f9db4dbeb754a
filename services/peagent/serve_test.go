package peagent

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"testing"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/testkit/pki"
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

// TestOnlyControllersChangeWeights: a certificate of the CA, such as another router's, is not enough.
func TestOnlyControllersChangeWeights(t *testing.T) {
	address, ca := testports.Loopback(t), pki.New(t)
	a := served(t, func(c *Configuration) {
		c.VPNs = []VPN{{Name: "red", ID: 1}}
		c.Control = Control{Listen: address, CA: ca.CA, Controllers: []string{"controller"}}
		c.Control.Cert, c.Control.Key = ca.Issue(t, "pe1", "127.0.0.1")
	})
	for name, want := range map[string]connect.Code{"pe2": connect.CodePermissionDenied, "controller": 0} {
		cert, err := tls.LoadX509KeyPair(ca.Issue(t, name))
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: ca.Pool(), Certificates: []tls.Certificate{cert}}, DisableKeepAlives: true,
		}}
		url := "https://" + address
		_, installed := vpnv1connect.NewVpnAgentServiceClient(client, url).Install(t.Context(), installation(1))
		_, set := vpnv1connect.NewVpnServiceClient(client, url).SetWeights(t.Context(), connect.NewRequest(&vpnv1.SetWeightsRequest{}))
		_, read := vpnv1connect.NewVpnServiceClient(client, url).Weights(t.Context(), connect.NewRequest(&vpnv1.WeightsRequest{}))
		if code(installed) != want || code(set) != want || read != nil {
			t.Errorf("%s: Install %v, SetWeights %v, Weights %v; want code %v, the same, and an answer", name, installed, set, read, want)
		}
	}
	if n := testutil.ToFloat64(a.metrics.refused.WithLabelValues("not-a-controller")); n != 2 {
		t.Errorf("%v refusals counted, want 2", n)
	}
}

// code of an error; 0 of none.
func code(err error) connect.Code {
	if err == nil {
		return 0
	}
	return connect.CodeOf(err)
}
