package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/services/push"
	"github.com/millrace/millrace/services/push/driver"
)

// network is routers in memory, and the policy service that plans their ports.
type network struct {
	policyv1connect.UnimplementedPolicyServiceHandler
	inventory *device.Inventory
	routers   map[string]*router
	ports     int
}

func newNetwork(n, ports int, spread time.Duration) *network {
	out := &network{inventory: &device.Inventory{}, routers: map[string]*router{}, ports: ports}
	for i := range n {
		name := fmt.Sprintf("r%04d", i)
		out.inventory.Devices = append(out.inventory.Devices, device.Device{Name: name})
		out.routers[name] = &router{entries: map[string]string{}, ports: ports, late: spread * time.Duration(i*7%10) / 10}
	}
	return out
}

// Plan gives every port of every router a scheduler.
func (n *network) Plan(context.Context, *connect.Request[policyv1.PlanRequest]) (*connect.Response[policyv1.PlanResponse], error) {
	out := &policyv1.PlanResponse{}
	for _, d := range n.inventory.Devices {
		plan := &policyv1.RouterPlan{Router: d.Name}
		for port := range n.ports {
			id := fmt.Sprintf("ge-0/0/%d", port)
			plan.Entries = append(plan.Entries, &policyv1.ConfigEntry{
				Path: configentry.QosInterface.Path(id), Encoding: policyv1.Encoding_ENCODING_JSON_IETF, Body: fmt.Sprintf(`{"interface-id": %q, "router": %q}`, id, d.Name),
			})
		}
		out.Plans = append(out.Plans, plan)
	}
	return connect.NewResponse(out), nil
}

// Open implements driver.Opener.
func (n *network) Open(_ context.Context, d device.Device) (driver.Driver, error) {
	return n.routers[d.Name], nil
}

// router does what it is sent, and answers after a time of its own.
type router struct {
	ports int
	late  time.Duration

	mu      sync.Mutex
	entries map[string]string
	pending string
	before  map[string]string
}

// Snapshot implements driver.Driver.
func (r *router) Snapshot(context.Context) (driver.Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return driver.Snapshot{Entries: maps.Clone(r.entries)}, nil
}

// Conflicts implements driver.Driver.
func (r *router) Conflicts(context.Context, driver.Snapshot, map[string]string) ([]driver.Conflict, error) {
	return nil, nil
}

// Probe implements driver.Driver.
func (r *router) Probe(context.Context) error { return nil }

// Commit implements driver.Driver.
func (r *router) Commit(_ context.Context, _ driver.Master, c driver.Commit) error {
	defer time.Sleep(r.late)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending, r.before = c.ID, maps.Clone(r.entries)
	for _, change := range c.Changes {
		if r.entries[change.Path] = change.After; change.After == "" {
			delete(r.entries, change.Path)
		}
	}
	return nil
}

// Confirm implements driver.Driver.
func (r *router) Confirm(context.Context, driver.Master, string) error {
	defer time.Sleep(r.late)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = ""
	return nil
}

// Cancel implements driver.Driver.
func (r *router) Cancel(context.Context, driver.Master, string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending, r.entries = "", r.before
	return nil
}

// Pending implements driver.Driver.
func (r *router) Pending(context.Context, driver.Master) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending != "", nil
}

// Verify implements driver.Driver.
func (r *router) Verify(context.Context, map[string]string) (out []driver.Check, err error) {
	for port := range r.ports {
		out = append(out, driver.Check{OK: true, Text: fmt.Sprintf("ge-0/0/%d has queues te-alpha, te-beta", port)})
	}
	return out, nil
}

// Close implements driver.Driver.
func (r *router) Close() error { return nil }

func clientOf(service *push.Component) (client pushv1connect.ChangeServiceClient, closeClient func()) {
	mux := http.NewServeMux()
	mux.Handle(service.Handler())
	local := rpc.NewLocal(mux)
	return pushv1connect.NewChangeServiceClient(local.Client(), rpc.LocalURL), func() { local.Close() }
}

func recordOf(entries []state.Entry) (*pushv1.ChangeSet, error) {
	cs := &pushv1.ChangeSet{}
	if len(entries) != 1 {
		return nil, fmt.Errorf("%d records of the change set", len(entries))
	}
	return cs, proto.Unmarshal(entries[0].Value, cs)
}

// costs are what the embedded etcd has counted: reads, writes, and octets of keys and values written.
type costs struct{ reads, writes, octets int }

func storeCosts() (c costs) {
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		return c
	}
	for _, f := range families {
		switch m := f.GetMetric()[0]; f.GetName() {
		case "etcd_mvcc_range_total":
			c.reads = int(m.GetCounter().GetValue())
		case "etcd_mvcc_put_total":
			c.writes = int(m.GetCounter().GetValue())
		case "etcd_debugging_mvcc_total_put_size_in_bytes":
			c.octets = int(m.GetGauge().GetValue())
		}
	}
	return c
}
