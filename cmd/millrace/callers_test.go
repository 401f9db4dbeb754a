package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/pki"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
	"github.com/millrace/millrace/services/dashboard"
)

// configured is the configuration of a file with this text.
func configured(t *testing.T, text string) *config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "millrace.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := loadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// securePort is the port of `millrace serve NAME` with mutual TLS.
func securePort(t *testing.T, ca *pki.Authority, name, mode string, mounts ...dashboard.Mount) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cert, key := ca.Issue(t, name, name+".millrace")
	cfg := configured(t, "identity: {mode: '"+mode+"'}\ntls: {ca: "+ca.CA+", cert: "+cert+", key: "+key+"}\n")
	p := &process{
		cfg: cfg, name: name, listener: l, mounts: mounts, log: slog.New(slog.DiscardHandler), metrics: prometheus.NewRegistry(), failed: make(chan error, 1),
	}
	if p.credentials, err = mtls.New(cfg.TLS.files(name), mtls.Dependencies{}); err != nil {
		t.Fatal(err)
	}
	s := newAPIServer(p)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.server.Close() })
	return "https://" + l.Addr().String()
}

// certified is a client of a service that has a certificate for these names; none: it has no certificate.
func certified(t *testing.T, ca *pki.Authority, service string, names ...string) *http.Client {
	t.Helper()
	c := &tls.Config{RootCAs: ca.Pool(), ServerName: service + ".millrace"}
	if len(names) > 0 {
		own, err := tls.LoadX509KeyPair(ca.Issue(t, "client-"+strings.ReplaceAll(names[0], "*", "all"), names...))
		if err != nil {
			t.Fatal(err)
		}
		c.Certificates = []tls.Certificate{own}
	}
	client := rpc.NewRemote(rpc.Remote{TLS: c})
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// forwarding sends each request as the dashboard does for a person; empty: for somebody without a login.
type forwarding struct {
	role string
	next http.RoundTripper
}

func (f forwarding) RoundTrip(r *http.Request) (*http.Response, error) {
	who := rights.Anonymous
	if role, known := rights.Named(f.role); known {
		who = rights.Caller{Name: "ann", Role: role}
	}
	r = r.Clone(r.Context())
	rpc.Forward(r.WithContext(rights.With(r.Context(), who)), r.Header)
	return f.next.RoundTrip(r)
}

// tryServices makes every call of every service's port with the certificate of every service, and with those of nobody.
func tryServices(t *testing.T) (tried int) {
	ca := pki.New(t)
	for _, s := range services() {
		if s.api == "" {
			continue
		}
		base := securePort(t, ca, s.name, "on", dashboard.Mount{Path: "/" + s.api + "/", Handler: answering(s.api)})
		for sender, client := range senders(t, ca, s.name) {
			for _, call := range rights.Calls() {
				if path.Dir(call.Procedure)[1:] != s.api {
					continue
				}
				for protocol, option := range protocols {
					tried++
					if got, want := outcome(t, client, base+call.Procedure, call, option), expectedOf(sender, call); got != want {
						t.Errorf("%s with the certificate of %q over %s: %v, want %v", call.Procedure, sender, protocol, got, want)
					}
				}
			}
		}
	}
	return tried
}

// senders are clients of a service by whose certificate they have, and whom the dashboard forwards for.
func senders(t *testing.T, ca *pki.Authority, service string) map[string]*http.Client {
	t.Helper()
	out := map[string]*http.Client{
		"nobody": certified(t, ca, service), "no service": certified(t, ca, service, "noc.example.net"), "two": certified(t, ca, service, "push.millrace", "alpha.millrace"),
		"all": certified(t, ca, service, "*.millrace"), scraper: certified(t, ca, service, scraper+".millrace"), "unknown": certified(t, ca, service, "unknown.millrace"),
	}
	for _, other := range services() {
		out[other.name] = certified(t, ca, service, other.name+".millrace")
	}
	for _, role := range []string{"", "viewer", "operator", "approver", "admin"} {
		out["for "+role] = &http.Client{Transport: forwarding{role, out[rights.Front].Transport}}
	}
	out["alpha for admin"] = &http.Client{Transport: forwarding{"admin", out["alpha"].Transport}}
	out["nobody for admin"] = &http.Client{Transport: forwarding{"admin", out["nobody"].Transport}}
	return out
}

func expectedOf(sender string, call rights.Call) connect.Code {
	if role, person := strings.CutPrefix(sender, "for "); person {
		return expected(role, call)
	}
	switch {
	case slices.Contains([]string{"nobody", "no service", "two", "all", "nobody for admin"}, sender):
		return connect.CodeUnauthenticated
	case slices.Contains(callsOf(sender), call.Procedure):
		return 0
	}
	return connect.CodePermissionDenied
}

// With logins off the dashboard's requests are everybody's; other services still make their own calls alone.
func TestWithoutLoginsTheDashboardForwardsForEverybody(t *testing.T) {
	ca, approve := pki.New(t), rights.Of("/millrace.push.v1.ChangeService/Approve")
	base := securePort(t, ca, "push", "off", dashboard.Mount{Path: path.Dir(approve.Procedure) + "/", Handler: answering(path.Dir(approve.Procedure)[1:])})
	for sender, want := range map[string]connect.Code{rights.Front: 0, "alpha": connect.CodePermissionDenied, "push": connect.CodePermissionDenied} {
		if got := outcome(t, certified(t, ca, "push", sender+".millrace"), base+approve.Procedure, approve, connect.WithGRPC()); got != want {
			t.Errorf("%s: %v, want %v", sender, got, want)
		}
	}
	if got := outcome(t, certified(t, ca, "push"), base+approve.Procedure, approve, connect.WithGRPC()); got != connect.CodeUnauthenticated {
		t.Errorf("without a certificate: %v", got)
	}
}

// Pages of a service's port: balancers have no certificate, Prometheus has its own.
func TestPagesOfServicesWithTLS(t *testing.T) {
	ca := pki.New(t)
	base := securePort(t, ca, "paths", "on")
	for sender, want := range map[string][2]int{"": {200, 401}, scraper + ".millrace": {200, 200}, "push.millrace": {200, 403}, "dashboard.millrace": {200, 403}} {
		var names []string
		if sender != "" {
			names = []string{sender}
		}
		for i, page := range []string{"/healthz", "/metrics"} {
			r, err := certified(t, ca, "paths", names...).Get(base + page)
			if err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
			if r.StatusCode != want[i] {
				t.Errorf("%s with %q: %s, want %d", page, sender, r.Status, want[i])
			}
		}
	}
}

// The gateway says who it forwards for, and nobody else's word for it comes through; credentials stay with it.
func TestWhatTheGatewayForwards(t *testing.T) {
	ca := pki.New(t)
	var got http.Header
	var who rights.Caller
	var from string
	base := securePort(t, ca, "push", "on", dashboard.Mount{Path: "/millrace.push.v1.ChangeService/", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, from = r.Header, r.RemoteAddr
		who, _ = rights.From(r.Context())
	})})
	cert, key := ca.Issue(t, rights.Front, "dashboard.millrace")
	p := &process{
		name: rights.Front, hosted: map[string]bool{}, remotes: map[string]*http.Client{}, log: slog.New(slog.DiscardHandler), metrics: prometheus.NewRegistry(),
		cfg: configured(t, "identity: {mode: on}\nendpoints: {push: '"+base+"'}\ntls: {ca: "+ca.CA+", cert: "+cert+", key: "+key+"}\n"),
	}
	var err error
	if p.credentials, err = mtls.New(p.cfg.TLS.files(rights.Front), mtls.Dependencies{}); err != nil {
		t.Fatal(err)
	}
	mounts, err := p.gateway()
	if err != nil {
		t.Fatal(err)
	}
	ann := rights.Caller{Name: "ann", Role: rights.Approver, APIs: []string{"push"}, Credential: "c1", Session: true}
	gateway := serveOn(t, rpc.As(ann, func() rpc.Recorder { return nil }, mounts[0].Handler))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, gateway+"/millrace.push.v1.ChangeService/List", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Millrace-For": "forged", "Authorization": "Bearer mrt_x", "Cookie": "millrace=mrs_x", "Origin": gateway} {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK || who.Name != "ann" || who.Role != rights.Approver || !slices.Equal(who.APIs, ann.APIs) || who.Credential != "c1" || !who.Session {
		t.Errorf("%s for %+v", answer.Status, who)
	}
	if got.Get("Authorization")+got.Get("Cookie")+got.Get("Origin") != "" || !strings.HasPrefix(from, "127.0.0.1:") || from == answer.Request.URL.Host {
		t.Errorf("the service got %v from %s", got, from)
	}
}

func serveOn(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h}
	go s.Serve(l) //nolint:errcheck // ends with the test
	t.Cleanup(func() { s.Close() })
	return "http://" + l.Addr().String()
}

// The dashboard's process asks identity's who shows a token, and does not take an identity that is away for a refusal.
func TestWhoShowsATokenElsewhere(t *testing.T) {
	ca := pki.New(t)
	refusal := connect.NewError(connect.CodeUnauthenticated, errors.New("no such token"))
	identity := &authenticator{err: refusal}
	route, handler := identityv1connect.NewIdentityServiceHandler(identity, rpc.Bounded(rpc.MaxRequest))
	base := securePort(t, ca, "identity", "on", dashboard.Mount{Path: route, Handler: handler})
	for name, tt := range map[string]struct {
		certificate, token string
		err                error
		want               rights.Caller
		code               connect.Code
	}{
		"a person":             {rights.Front, "good", nil, rights.Caller{Name: "ann", Role: rights.Operator, Credential: "t1"}, 0},
		"nobody":               {rights.Front, "", nil, rights.Anonymous, 0},
		"a wrong token":        {rights.Front, "bad", refusal, rights.Caller{}, connect.CodeUnauthenticated},
		"too often":            {rights.Front, "good", connect.NewError(connect.CodeResourceExhausted, errors.New("too many")), rights.Caller{}, connect.CodeResourceExhausted},
		"etcd is away":         {rights.Front, "good", connect.NewError(connect.CodeUnavailable, errors.New("etcd")), rights.Caller{}, connect.CodeUnavailable},
		"an error of its own":  {rights.Front, "good", errors.New("broken"), rights.Caller{}, connect.CodeUnavailable},
		"with a wrong service": {"push", "good", nil, rights.Caller{}, connect.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			identity.err = tt.err
			cert, key := ca.Issue(t, tt.certificate, tt.certificate+".millrace")
			p := &process{
				name: rights.Front, hosted: map[string]bool{}, remotes: map[string]*http.Client{}, metrics: prometheus.NewRegistry(),
				cfg: configured(t, "identity: {mode: on}\nendpoints: {identity: '"+base+"'}\ntls: {ca: "+ca.CA+", cert: "+cert+", key: "+key+"}\n"),
			}
			var err error
			if p.credentials, err = mtls.New(p.cfg.TLS.files(rights.Front), mtls.Dependencies{}); err != nil {
				t.Fatal(err)
			}
			ask, err := p.visitor()
			if err != nil {
				t.Fatal(err)
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://dashboard/", nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.token != "" {
				r.Header.Set("Authorization", tt.token)
			}
			who, err := ask(r)
			if codeIn(err) != tt.code || who.Name != tt.want.Name || who.Role != tt.want.Role || who.Credential != tt.want.Credential {
				t.Errorf("got %+v, %v; want %+v, %v", who, err, tt.want, tt.code)
			}
		})
	}
}

// authenticator knows one token.
type authenticator struct {
	identityv1connect.UnimplementedIdentityServiceHandler
	err error
}

func (a *authenticator) Authenticate(_ context.Context, r *connect.Request[identityv1.AuthenticateRequest]) (*connect.Response[identityv1.AuthenticateResponse], error) {
	if a.err != nil {
		return nil, a.err
	}
	return connect.NewResponse(&identityv1.AuthenticateResponse{Caller: &identityv1.Caller{Name: "ann", Role: rights.Operator, Credential: "t1"}}), nil
}
