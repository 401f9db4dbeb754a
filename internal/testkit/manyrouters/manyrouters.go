// Package manyrouters are as many routers as a test asks for, in one OSPF area: each a gNMI server of its own over
// mutual TLS, with its ports, the link-state database that all of them share, and samples of its counters.
//
// In: a folder, how many routers, and how many ports each has. Out: servers that end with the test, an inventory that
// names them, links that fail and come back.
// Next: e2e/manyrouters.
package manyrouters

import (
	"crypto/tls"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/millrace/millrace/internal/gnmiclient/gnmitest"
	"github.com/millrace/millrace/internal/testkit/pki"
)

// Network is a ring of routers with chords, so that each has four links and no failure of one link divides it.
type Network struct {
	routers []*router
	links   []*link
	// Sent counts counters that were sent as samples.
	Sent atomic.Uint64
	// failing lets one link at a time fail or come back.
	failing sync.Mutex
}

type router struct {
	name     string
	loopback netip.Addr
	server   *gnmitest.Server
	// links are those that end here; spare are names of ports without a link.
	links []*link
	spare []string
	// changed wakes the streams that tell of ports.
	mu      sync.Mutex
	changed chan struct{}
}

// link has two ends: a router, the address and the name of its port.
type link struct {
	ends [2]end
	down atomic.Bool
}

type end struct {
	at      *router
	address netip.Addr
	port    string
}

// New starts n routers with so many ports each, and writes inventory.yaml into the folder.
func New(t *testing.T, folder string, n, ports int) *Network {
	t.Helper()
	network := design(n, ports)
	ca := pki.New(t)
	own, err := tls.LoadX509KeyPair(ca.Issue(t, "router", "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	certs := gnmitest.Certs{Server: &tls.Config{
		Certificates: []tls.Certificate{own}, ClientCAs: ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}}
	cert, key := ca.Issue(t, "controller")
	inventory := &strings.Builder{}
	fmt.Fprintf(inventory, "tls: {ca: %q, cert: %q, key: %q}\ndevices:\n", ca.CA, cert, key)
	for _, r := range network.routers {
		r.server = gnmitest.New(t, r.name, certs)
		r.server.OnSubscribe = network.subscribe(r)
		r.server.Serve(pathInterfaces, interfaces(r))
		r.server.Start(t)
		fmt.Fprintf(inventory, "  - {name: %s, address: %q, loopback: %s}\n", r.name, r.server.Device.Address, r.loopback)
	}
	network.flood()
	if err := os.WriteFile(filepath.Join(folder, "inventory.yaml"), []byte(inventory.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return network
}

// design is the network without its servers: router i has links to the next one and to the one that is the square root
// of n further on.
func design(n, ports int) *Network {
	network := &Network{}
	for i := range n {
		network.routers = append(network.routers, &router{
			name: fmt.Sprintf("r%d", i+1), loopback: address(10<<24 + 255<<16 + i + 1), changed: make(chan struct{}),
		})
	}
	chord := max(2, int(math.Sqrt(float64(n))))
	for i := range n {
		network.connect(i, (i+1)%n)
		network.connect(i, (i+chord)%n)
	}
	for _, r := range network.routers {
		for i := len(r.links); i < ports; i++ {
			r.spare = append(r.spare, fmt.Sprintf("eth%d", i+1))
		}
	}
	return network
}

func (n *Network) connect(i, j int) {
	a, b, base := n.routers[i], n.routers[j], 10<<24+4*len(n.links)
	l := &link{ends: [2]end{{a, address(base + 1), "to-" + b.name}, {b, address(base + 2), "to-" + a.name}}}
	a.links, b.links, n.links = append(a.links, l), append(b.links, l), append(n.links, l)
}

func address(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// Links is how many there are.
func (n *Network) Links() int { return len(n.links) }

// Routers are their names.
func (n *Network) Routers() (out []string) {
	for _, r := range n.routers {
		out = append(out, r.name)
	}
	return out
}

// Fail takes a link down, as a cut fibre does: both ports are down at once, and no router has it in its database.
func (n *Network) Fail(i int) { n.turn(i, true) }

// Restore brings it back.
func (n *Network) Restore(i int) { n.turn(i, false) }

func (n *Network) turn(i int, down bool) {
	n.failing.Lock()
	defer n.failing.Unlock()
	n.links[i].down.Store(down)
	for _, e := range n.links[i].ends {
		e.at.server.Serve(pathInterfaces, interfaces(e.at))
	}
	n.flood()
	for _, e := range n.links[i].ends {
		e.at.wake()
	}
}

// flood gives all routers the same database.
func (n *Network) flood() {
	doc := n.database()
	for _, r := range n.routers {
		r.server.Serve(pathProtocols, doc)
	}
}

// wake ends the wait of all streams that tell of this router's ports.
func (r *router) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *router) change() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}
