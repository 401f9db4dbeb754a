package storm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/topo"
	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/paths"
)

// cluster is all that runs: members of etcd, replicas, and services/paths in this process, which has the topology of
// the scenario's file from a bus of its own.
type cluster struct {
	host, output      string
	scenario          *scenario.Scenario
	members, replicas []*process
	bus               *bus.Memory
	paths             *paths.Component
	server            *http.Server
}

// The ports, on an address of its own.
const (
	etcdPort  = 2379
	pathsPort = 7005
	ownPort   = 7100
	// noBus is where nobody listens.
	noBus = 9092
)

// ownHost is a loopback address for this process alone, so that a port is free also while the process that had it is
// dead.
func ownHost() string {
	pid := os.Getpid()
	return netip.AddrFrom4([4]byte{127, byte(116 + pid>>16%100), byte(pid >> 8), byte(pid)}).String()
}

const configuration = `# Written by the storm.
data_dir: %s
inventory: %s
kafka: {brokers: ["%s"]}
etcd: {endpoints: [%s]}
identity: {mode: off} # what is tried here is a crowd, not who is in it
endpoints: {paths: "%s", circuits: "%s"}
circuits: {topology: 1s, topology_age: 1h, projects: {storm: {members: [crowd], holds: 100000}}}
`

func newCluster(s *scenario.Scenario, output string) (*cluster, error) {
	c := &cluster{host: ownHost(), output: output, scenario: s}
	var all, clients []string
	for i := range s.Storm.Members {
		all = append(all, fmt.Sprintf("m%d=%s", i, c.url(etcdPort+10*i+1)))
		clients = append(clients, c.url(etcdPort+10*i))
	}
	for i, client := range clients {
		name := fmt.Sprintf("m%d", i)
		c.members = append(c.members, &process{
			name: "etcd " + name, log: filepath.Join(output, name+".log"), ready: client + "/health",
			argv: []string{"lab", "etcd", "--name", name, "--dir", filepath.Join(output, name), "--client", client, "--peer", c.url(etcdPort + 10*i + 1), "--cluster", strings.Join(all, ",")},
		})
	}
	inventory := filepath.Join(output, "inventory.yaml")
	if err := os.WriteFile(inventory, []byte("devices: []\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write inventory: %w", err)
	}
	for i := range s.Storm.Replicas {
		name := fmt.Sprintf("circuits%d", i)
		file := filepath.Join(output, name+".yaml")
		text := fmt.Sprintf(configuration, filepath.Join(output, name), inventory, c.at(noBus), `"`+strings.Join(clients, `", "`)+`"`, c.url(pathsPort), c.url(ownPort+i))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("write configuration: %w", err)
		}
		c.replicas = append(c.replicas, &process{
			name: name, log: filepath.Join(output, name+".log"), ready: c.url(ownPort+i) + "/v1/calendar", argv: []string{"serve", "circuits", "--config", file},
		})
	}
	return c, nil
}

func (c *cluster) at(port int) string { return net.JoinHostPort(c.host, fmt.Sprint(port)) }

func (c *cluster) url(port int) string { return "http://" + c.at(port) }

// replica is where one is asked.
func (c *cluster) replica(n int) string { return c.url(ownPort + n%len(c.replicas)) }

// start returns when every replica decides on requests.
func (c *cluster) start(ctx context.Context) error {
	if err := c.servePaths(ctx); err != nil {
		return err
	}
	for _, group := range [][]*process{c.members, c.replicas} {
		for _, p := range group {
			if err := p.begin(); err != nil {
				return err
			}
		}
		for _, p := range group {
			if err := p.await(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *cluster) servePaths(ctx context.Context) (err error) {
	c.bus = bus.NewMemory()
	c.paths, err = paths.New(paths.DefaultConfiguration(), paths.Dependencies{Bus: c.bus, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	if err != nil {
		return err
	}
	if err := c.paths.Start(ctx); err != nil {
		return err
	}
	network := topology(c.scenario)
	if err := c.bus.Publish(ctx, bus.TopicTopology, network.Area, network.ToProto()); err != nil {
		return fmt.Errorf("publish the topology: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle(c.paths.Handler())
	listener, err := net.Listen("tcp", c.at(pathsPort))
	if err != nil {
		return fmt.Errorf("listen for services/paths: %w", err)
	}
	c.server = rpc.Server(mux)
	go func() { _ = c.server.Serve(listener) }()
	return nil
}

// topology is the network of the scenario's file.
func topology(s *scenario.Scenario) topo.Snapshot {
	out := topo.Snapshot{Area: "0.0.0.0", Source: s.Routers[0].Name, Time: time.Now()}
	for _, r := range s.Routers {
		out.Nodes = append(out.Nodes, topo.Node{ID: r.Loopback(), Name: r.Name, Loopback: r.Loopback(), SIDLabel: uint32(r.NodeSID())})
	}
	for i, l := range s.Links {
		if !s.BetweenRouters(l) {
			continue
		}
		a, _ := s.Router(l.A.Node)
		b, _ := s.Router(l.B.Node)
		atA, atB := s.LinkAddresses(i)
		add := func(from, to scenario.Router, local, remote netip.Prefix, port string) {
			out.Links = append(out.Links, topo.Link{
				ID: from.Loopback().String() + "|" + local.Addr().String(), From: from.Loopback(), To: to.Loopback(), Interface: port,
				LocalAddress: local.Addr(), RemoteAddress: remote.Addr(), Metric: uint32(l.Cost), Bandwidth: uint64(l.Rate),
			})
		}
		add(a, b, atA, atB, l.A.Interface)
		add(b, a, atB, atA, l.B.Interface)
	}
	return out
}

// stop ends everything, by force.
func (c *cluster) stop() error {
	var errs []error
	for _, p := range append(c.replicas, c.members...) {
		errs = append(errs, p.kill())
	}
	if c.server != nil {
		errs = append(errs, c.server.Close())
	}
	if c.paths != nil {
		errs = append(errs, c.paths.Stop(context.Background()), c.bus.Close())
	}
	return errors.Join(errs...)
}

// leader is the member that leads; -1 while nobody does. One that was killed does not answer.
func (c *cluster) leader(ctx context.Context) int {
	for i, p := range c.members {
		text, err := read(ctx, strings.TrimSuffix(p.ready, "/health")+"/metrics")
		if err == nil && strings.Contains(text, "\netcd_server_is_leader 1\n") {
			return i
		}
	}
	return -1
}
