package cluster

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/kafka"
	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/tworouters"
)

// world is everything, on its hosts.
type world struct {
	*plane.Work
	plane.States

	dir   string
	hosts []*host
	// ca signs for stores, routers and their clients; services have a CA of millrace's.
	ca      *pki.Authority
	members []etcd.Member
	kafka   []*kafka.Broker
	// running are the processes of Millrace and etcd by host and name, such as h1-push.
	running map[string]*program.Process
	// release is the binary of each host.
	release map[string]string
	people  *people
}

// doubled are the services of which there are two, and their ports. The page names what is not here.
var doubled = map[string]int{
	"flow": 7002, "telemetry": 7003, "topology": 7004, "paths": 7005, "policy": 7006, "push": 7007, "alpha": 7008, "dashboard": 7009,
	"vpn": 7010, "twin": 7011, "circuits": 7012, "identity": 7013, "audit": 7014, "split": 7015,
}

// flowstorePort is on the third host.
const flowstorePort = 7001

func newWorld(t *testing.T) *world {
	t.Helper()
	program.NeedLibrary(t)
	w := &world{dir: t.TempDir(), ca: pki.New(t), running: map[string]*program.Process{}, release: map[string]string{}}
	w.hosts = newHosts(t, "h1", "h2", "h3")
	for _, h := range w.hosts {
		w.release[h.name] = cmp.Or(*before, program.Path)
	}
	w.stores(t)
	routers := &plane.Plane{Host: operators, PKI: w.ca}
	routers.AddRouters(t)
	w.certificates(t)
	w.configure(t, routers.Routers)
	t.Cleanup(func() { w.stop(t) })
	for _, h := range w.hosts {
		for _, name := range services(h.name) {
			w.launch(t, h, name)
		}
	}
	for _, h := range w.hosts {
		for _, name := range services(h.name) {
			w.ready(t, h, name)
		}
	}
	w.people = w.logIn(t)
	w.Work = plane.NewWork(w.people, func(string) string { return w.url(w.hosts[0], "dashboard") }, routers.Routers)
	tworouters.TellOn(t, w.bus(t), w.people, w.url(w.hosts[0], "dashboard"), time.Now())
	w.Learn(t, routers.Routers, func() { w.verified(t) })
	w.Send(t, "first", plane.Small)
	w.AllStored(t)
	return w
}

// stores starts etcd and Kafka on all hosts.
func (w *world) stores(t *testing.T) {
	t.Helper()
	w.members = members(t, w.ca, w.dir, w.hosts)
	for i, h := range w.hosts {
		w.running[h.name+"-etcd"] = w.startMember(t, h, w.members[i])
	}
	var nodes []kafka.Host
	for _, h := range w.hosts {
		nodes = append(nodes, kafka.Host{Address: h.address, Run: h.here()})
	}
	w.kafka = kafka.StartCluster(t, w.ca, nodes)
}

// bus is the way of the test to Kafka.
func (w *world) bus(t *testing.T) bus.KafkaConfiguration {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(w.ca.Issue(t, "test-bus"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := bus.DefaultKafkaConfiguration()
	for _, h := range w.hosts {
		cfg.Brokers = append(cfg.Brokers, h.address+":9093")
	}
	cfg.TLS = func(address string) *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: w.ca.Pool(), ServerName: hostOf(address), MinVersion: tls.VersionTLS12}
	}
	return cfg
}

// services are those of a host.
func services(host string) []string {
	if host == "h3" {
		return []string{"flowstore"}
	}
	var names []string
	for name := range doubled {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (w *world) url(h *host, service string) string {
	port := doubled[service]
	if service == "flowstore" {
		port = flowstorePort
	}
	return fmt.Sprintf("https://%s:%d", h.address, port)
}

// launch starts a service on a host.
func (w *world) launch(t *testing.T, h *host, service string) {
	t.Helper()
	name := h.name + "-" + service
	w.running[name] = program.Start(t, w.dir, name, h.here(w.release[h.name], "serve", service,
		"--config", filepath.Join(w.dir, h.name+".yaml"), "--listen", listens(w.url(h, service)))...)
}

// ready waits until a service answers; its certificate names the service, which the test does not look at.
func (w *world) ready(t *testing.T, h *host, service string) {
	t.Helper()
	blind := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer blind.CloseIdleConnections()
	client, p := &http.Client{Transport: blind, Timeout: 10 * time.Second}, w.running[h.name+"-"+service]
	program.Until(t, p.Name+" answers", func() (bool, any) {
		if p.Ended() {
			t.Fatalf("%s ended: %s\n%s", p.Name, p.State(), p.Tail())
		}
		r, err := client.Get(w.url(h, service) + "/healthz")
		if err != nil {
			return false, err
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK, r.Status
	})
}

// trust has the CA of the services.
func (w *world) trust(t *testing.T) *x509.CertPool {
	t.Helper()
	pem, err := os.ReadFile(w.caFile())
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return pool
}

func (w *world) stop(t *testing.T) {
	t.Helper()
	for _, p := range w.running {
		p.Ask(syscall.SIGTERM)
	}
	for _, p := range w.running {
		p.Signal(t, syscall.SIGKILL)
	}
}
