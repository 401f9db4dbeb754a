package routeragent_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/services/routeragent"
	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/labtest"
)

// target is an agent in a router of its own, and a client that speaks to it over TLS.
type target struct {
	// capabilities of an agent in a process of its own, as setpriv spells them; empty: all of root.
	capabilities string
	*testing.T
	router *labtest.Router
	pki    *pki.Authority
	cfg    routeragent.Configuration
	agent  *routeragent.Agent
	client gnmi.GNMIClient
	conn   *grpc.ClientConn
	addr   string
	lsps   *plainLSPs
	// clock times the roll-back of commits; nil: the machine's.
	clock *clock
	// drivers is where the agent finds the speeds of ports; empty: the machine's.
	drivers string
	log     *logBook
	// registry takes the metrics; nil: nobody does.
	registry *prometheus.Registry
}

func newTarget(t *testing.T) *target { return newTargetBy(t, nil) }

func newTargetBy(t *testing.T, by *clock) *target {
	t.Helper()
	x := &target{T: t, clock: by, log: &logBook{}, router: labtest.NewRouter(t), pki: pki.New(t)}
	cert, key := x.pki.Issue(t, "router", "127.0.0.1")
	x.cfg = routeragent.Configuration{
		Name: "r1", DataDir: t.TempDir(), FRRInstance: "none",
		TLS:        routeragent.TLS{Cert: cert, Key: key, CA: x.pki.CA},
		Roles:      map[string]routeragent.Role{"operator": routeragent.RoleOperator},
		Interfaces: map[string]routeragent.Interface{"ge-a": {Speed: 100e6, Buffer: 1250000}, "ge-b": {Speed: 100e6, Buffer: 1250000}},
	}
	x.lsps = &plainLSPs{router: x.router, have: map[int]intent.Tunnel{}}
	x.start()
	t.Cleanup(x.stop)
	return x
}

// start starts an agent on the router, as after a boot.
func (x *target) start() {
	x.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		x.Fatal(err)
	}
	x.addr = l.Addr().String()
	deps := routeragent.Dependencies{Log: slog.New(slog.NewTextHandler(x.log, nil)), Namespace: &x.router.NS, Listener: l, LSPs: x.lsps, Drivers: x.drivers}
	if x.registry != nil {
		deps.Registerer, deps.Gatherer = x.registry, x.registry
	}
	if x.clock != nil {
		deps.After = x.clock.after
	}
	if x.agent, err = routeragent.New(x.cfg, deps); err != nil {
		x.Fatal(err)
	}
	if err := x.agent.Start(x.Context()); err != nil {
		x.Fatal(err)
	}
	x.conn = x.dial(x.clientTLS("operator"))
	x.client = gnmi.NewGNMIClient(x.conn)
}

func (x *target) stop() {
	x.conn.Close()
	if err := x.agent.Stop(context.Background()); err != nil {
		x.Error(err)
	}
}

func (x *target) clientTLS(name string) *tls.Config { return x.subjectTLS(pkix.Name{CommonName: name}) }

func (x *target) unitTLS(name, unit string) *tls.Config {
	return x.subjectTLS(pkix.Name{CommonName: name, OrganizationalUnit: []string{unit}})
}

func (x *target) subjectTLS(subject pkix.Name) *tls.Config {
	x.Helper()
	cert, key := x.pki.IssueFor(x.T, subject)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		x.Fatal(err)
	}
	raw, err := os.ReadFile(x.pki.CA)
	if err != nil {
		x.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(raw)
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, ServerName: "127.0.0.1"}
}

func (x *target) dial(cfg *tls.Config) *grpc.ClientConn {
	x.Helper()
	c, err := grpc.NewClient("passthrough:///"+x.addr, grpc.WithTransportCredentials(credentials.NewTLS(cfg)))
	if err != nil {
		x.Fatal(err)
	}
	return c
}

func (x *target) get(kind gnmi.GetRequest_DataType, path string) (string, error) {
	x.Helper()
	r, err := x.client.Get(x.Context(), &gnmi.GetRequest{Type: kind, Encoding: gnmi.Encoding_JSON_IETF, Path: []*gnmi.Path{mustPath(x.T, path)}})
	if err != nil {
		return "", err
	}
	var out []string
	for _, u := range r.GetNotification()[0].GetUpdate() {
		out = append(out, string(u.GetVal().GetJsonIetfVal()))
	}
	return strings.Join(out, " "), nil
}

func (x *target) config(path string) string {
	s, err := x.get(gnmi.GetRequest_CONFIG, path)
	if status.Code(err) == codes.NotFound {
		return ""
	}
	if err != nil {
		x.Fatal(err)
	}
	return s
}

func (x *target) set(req *gnmi.SetRequest) error {
	_, err := x.client.Set(x.Context(), req)
	return err
}

func mustPath(t *testing.T, s string) *gnmi.Path {
	t.Helper()
	p, err := ygot.StringToStructuredPath(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ietf(v string) *gnmi.TypedValue {
	return &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(v)}}
}

func (x *target) upd(path, value string) *gnmi.Update {
	return &gnmi.Update{Path: mustPath(x.T, path), Val: ietf(value)}
}

// request builds a Set; arguments are "delete path", "replace path json", "update path json".
func (x *target) request(ops ...string) *gnmi.SetRequest {
	x.Helper()
	req := &gnmi.SetRequest{}
	for _, op := range ops {
		f := strings.SplitN(op, " ", 3)
		switch f[0] {
		case "delete":
			req.Delete = append(req.Delete, mustPath(x.T, f[1]))
		case "replace":
			req.Replace = append(req.Replace, x.upd(f[1], f[2]))
		case "update":
			req.Update = append(req.Update, x.upd(f[1], f[2]))
		default:
			x.Fatalf("operation %q", op)
		}
	}
	return req
}

// hntes is the whole HNTES configuration of a router: alpha rule 7, two queues on ge-b, LSP over 10.0.1.2.
func hntes(alphaWeight string) string {
	raw, err := os.ReadFile(filepath.Join("testdata", "hntes.json"))
	if err != nil {
		panic(err)
	}
	return strings.ReplaceAll(string(raw), `"95"`, `"`+alphaWeight+`"`)
}

func wantCode(t *testing.T, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("answer %s (%v), want %s", got, err, want)
	}
}

// plainLSPs stands for FRR where the kernel has no MPLS: the LSP's table gets a
// plain default route by the first hop. Everything around it is real.
type plainLSPs struct {
	mu     sync.Mutex
	router *labtest.Router
	have   map[int]intent.Tunnel
	fail   error
	asked  int
}

// calls counts the requests to FRR.
func (l *plainLSPs) calls() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

func (l *plainLSPs) Ensure(_ context.Context, tunnels []intent.Tunnel) (map[string][]uint32, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	labels := map[string][]uint32{}
	for _, t := range tunnels {
		if l.fail != nil {
			return nil, l.fail
		}
		labels[t.Name] = nil
		if _, ok := l.have[t.ID]; !ok {
			l.router.In("ip", "route", "add", "default", "via", t.Hops[0].Address.String(), "table", table(t.ID), "proto", "static")
			l.have[t.ID] = t
		}
	}
	return labels, nil
}

func (l *plainLSPs) Prune(_ context.Context, tunnels []intent.Tunnel, _ map[string][]uint32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	keep := map[int]bool{}
	for _, t := range tunnels {
		keep[t.ID] = true
	}
	for id := range l.have {
		if !keep[id] {
			l.router.In("ip", "route", "del", "default", "table", table(id))
			delete(l.have, id)
		}
	}
	return nil
}

// forget makes the next Ensure set up every LSP again.
func (l *plainLSPs) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.have)
}

// failWith makes every Ensure fail; nil ends it.
func (l *plainLSPs) failWith(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = err
}

func (l *plainLSPs) Verify(context.Context, []intent.Tunnel, map[string][]uint32) error { return nil }

func (l *plainLSPs) Renew(context.Context, intent.Tunnel) error { return nil }

func table(id int) string {
	raw, _ := json.Marshal(20000 + id)
	return string(raw)
}

var errInjected = errors.New("injected")
