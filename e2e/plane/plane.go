// Package plane runs services in processes of their own between things that a test can break: a real etcd, a real Kafka
// broker, and routers that speak gNMI (services/push/pushtest) behind links that can fail (internal/testkit/faults).
//
// In: the millrace binary, Kafka's jars, the names of services and their configuration beside addresses.
// Out: a control plane that lives as long as the test, and a table of what can break in it.
// Next: e2e/faults, e2e/soak, e2e/year, e2e/cluster.
package plane

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/millrace/millrace/internal/gnmiclient/gnmitest"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/faults"
	"github.com/millrace/millrace/internal/testkit/kafka"
	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/services/push/pushtest"
)

// Options are a test's settings.
type Options struct {
	// Services are the names of those that run.
	Services []string
	// Settings are sections of the configuration file, beside etcd, Kafka, the inventory and the addresses of services.
	Settings string
	// Through are the names of services that the rest reach through a link; they reach each other without.
	Through []string
	// Before is called with the plane's folder before anything runs.
	Before func(folder string)
	// Etcd changes how etcd runs.
	Etcd []func(*embed.Config)
}

// Plane is a control plane of several processes.
type Plane struct {
	Dir, Host string
	Etcd      *etcd.Server
	// EtcdLink is the way of services to it.
	EtcdLink *faults.Link
	Kafka    *kafka.Broker
	PKI      *pki.Authority
	// Links are the links to services.
	Links map[string]*faults.Link
	// Routers are WR, where transfers enter, and ER, where they leave.
	Routers map[string]*Router
	// Running are the processes by the name of the service.
	Running map[string]*program.Process
	Changes pushv1connect.ChangeServiceClient

	services []string
}

// Router is a router at the end of a link that can fail.
type Router struct {
	*pushtest.Router
	Name string
	Link *faults.Link
	// Certificate is what the router shows.
	Certificate *Certificate
	// PE is the agent beside it that divides the core among VPNs.
	PE *PE
}

// Names of the routers.
var Names = []string{"WR", "ER"}

// Ports are where services listen: alpha, for example, needs the address of a flow store, whether one runs
// or not.
var Ports = map[string]int{
	"flowstore": 7001, "flow": 7002, "paths": 7005, "policy": 7006, "push": 7007, "alpha": 7008, "dashboard": 7009, "vpn": 7010,
}

// New starts everything, and waits until every service answers.
func New(t *testing.T, o Options) *Plane {
	t.Helper()
	host := program.OwnHost()
	p := &Plane{Dir: t.TempDir(), Host: host, PKI: pki.New(t), Running: map[string]*program.Process{}, Links: map[string]*faults.Link{}, services: o.Services}
	if o.Before != nil {
		o.Before(p.Dir)
	}
	p.Kafka, p.Etcd = kafka.StartOn(t, host), etcd.Start(t, host, append(o.Etcd, etcd.Compacted("1m"))...)
	p.EtcdLink = p.Link(t, strings.TrimPrefix(p.Etcd.URL, "http://"))
	for _, name := range o.Through {
		p.Links[name] = p.Link(t, strings.TrimPrefix(p.URL(name), "http://"))
	}
	p.AddRouters(t)
	p.configure(t, o)
	p.Changes = pushv1connect.NewChangeServiceClient(http.DefaultClient, p.URL("push"))
	t.Cleanup(func() { p.stop(t) })
	for _, name := range o.Services {
		p.launch(t, name)
	}
	for _, name := range o.Services {
		p.Running[name].WaitReady(t, p.URL(name))
	}
	return p
}

// AddRouters starts the routers, on the plane's host and with its CA.
func (p *Plane) AddRouters(t *testing.T) {
	t.Helper()
	p.Routers = map[string]*Router{}
	for _, name := range Names {
		c := p.certificate(t, name)
		r := pushtest.Start(t, name, gnmitest.Certs{Server: p.server(t, c)})
		p.Routers[name] = &Router{r, name, p.Link(t, r.Device.Address), c, p.newPE(t, name)}
	}
}

// Link is a way to an address that can fail.
func (p *Plane) Link(t *testing.T, to string) *faults.Link {
	t.Helper()
	return faults.NewLink(t, net.JoinHostPort(p.Host, "0"), to)
}

// Server is what a server on the plane's host needs for mutual TLS.
func (p *Plane) Server(t *testing.T, name string) *tls.Config {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(p.PKI.Issue(t, name, p.Host, "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: p.PKI.Pool(), ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
}

// Runs reports whether a service is one of the plane's.
func (p *Plane) Runs(service string) bool { return slices.Contains(p.services, service) }

// URL is where a service listens.
func (p *Plane) URL(service string) string {
	return fmt.Sprintf("http://%s:%d", p.Host, Ports[service])
}

func (p *Plane) launch(t *testing.T, name string) {
	p.Running[name] = program.Start(t, p.Dir, name, program.Path, "serve", name, "--config", filepath.Join(p.Dir, p.config(name)))
}

// Start starts a service again and waits until it answers.
func (p *Plane) Start(t *testing.T, name string) {
	t.Helper()
	p.launch(t, name)
	p.Running[name].WaitReady(t, p.URL(name))
}

func (p *Plane) stop(t *testing.T) {
	for _, process := range p.Running {
		process.Ask(syscall.SIGTERM)
	}
	for name, process := range p.Running {
		process.Signal(t, syscall.SIGTERM)
		if t.Failed() {
			t.Logf("%s said at the end:\n%s", name, process.Tail())
		}
	}
}
