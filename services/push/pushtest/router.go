// Package pushtest is a router for tests of change sets: real gNMI over mutual
// TLS on the loopback, commit-confirm with a real timer, and faults on demand.
// What it lacks of services/routeragent is the kernel underneath.
//
// In: SetRequests, faults. Out: answers, and what the router holds. Next: tests
// of services/push.
package pushtest

import (
	"context"
	"maps"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient/gnmitest"
	"github.com/millrace/millrace/internal/testkit/ports"
)

// Fault is something a router does wrong, once or until cleared.
type Fault string

// The faults.
const (
	// RefuseCommit answers INVALID_ARGUMENT to the next commit and changes nothing.
	RefuseCommit Fault = "refuse-commit"
	// HangBeforeCommit never does the next commit, and does not answer until TimeOut.
	HangBeforeCommit Fault = "hang-before-commit"
	// HangAfterCommit does the next commit, and does not answer until TimeOut.
	HangAfterCommit Fault = "hang-after-commit"
	// DieAfterCommit does the next commit and is unreachable from then on, before it could answer.
	DieAfterCommit Fault = "die-after-commit"
	// HangAtConfirm neither confirms nor answers until TimeOut, once.
	HangAtConfirm Fault = "hang-at-confirm"
	// DieAtConfirm is unreachable from the next confirmation on.
	DieAtConfirm Fault = "die-at-confirm"
	// LoseConfirm confirms, and does not answer until TimeOut, once.
	LoseConfirm Fault = "lose-confirm"
	// ConfirmFails answers INVALID_ARGUMENT to every confirmation of the pending commit, which goes on
	// waiting, until cleared: a router whose disk is full, and which uses that code for every error.
	ConfirmFails Fault = "confirm-fails"
	// CancelFails answers ABORTED to every cancellation of the pending commit, until cleared: a router
	// whose routing daemon restarts and that cannot roll back yet.
	CancelFails Fault = "cancel-fails"
	// TunnelsDown reports every LSP as down until cleared.
	TunnelsDown Fault = "tunnels-down"
	// IgnoreExtensions treats Commit as if it were not there, until cleared.
	IgnoreExtensions Fault = "ignore-extensions"
)

// Router is one gNMI target.
type Router struct {
	gnmi.UnimplementedGNMIServer
	// Device is how to reach it.
	Device device.Device

	certs gnmitest.Certs

	mu      sync.Mutex
	entries map[string]string
	pending *pending
	faults  map[Fault]bool
	holds   map[Moment]*Hold
	commits int
	// refused counts the confirmations and cancellations that failed.
	refused int
	// elections are the highest election ids that Sets had, by role.
	elections map[string][2]uint64
	grpc      *grpc.Server
	down      bool
	// hanging counts the calls that get no answer; timeouts ends one of them.
	hanging  int
	timeouts chan struct{}
}

// pending is a commit that waits for its confirmation.
type pending struct {
	id     string
	before map[string]string
	timer  *time.Timer
}

// Start makes a router and serves it.
func Start(t testing.TB, name string, certs gnmitest.Certs) *Router {
	t.Helper()
	r := &Router{
		Device: device.Device{Name: name, Address: ports.Loopback(t)},
		certs:  certs, entries: map[string]string{}, faults: map[Fault]bool{}, holds: map[Moment]*Hold{}, elections: map[string][2]uint64{}, timeouts: make(chan struct{}),
	}
	r.Up(t)
	t.Cleanup(r.Down)
	return r
}

// Up serves, on the same port as before; what it holds and what is pending has survived.
func (r *Router) Up(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", r.Device.Address)
	for n := 0; err != nil && n < 100; n++ { // a Down under way still has the port
		time.Sleep(10 * time.Millisecond)
		l, err = net.Listen("tcp", r.Device.Address)
	}
	if err != nil {
		t.Fatalf("listen for %s: %v", r.Device.Name, err)
	}
	r.Device.Address = l.Addr().String()
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(r.certs.Server)))
	gnmi.RegisterGNMIServer(server, r)
	r.mu.Lock()
	r.grpc, r.down = server, false
	r.mu.Unlock()
	go server.Serve(l) //nolint:errcheck // ends with Down
}

// Down makes it unreachable; its timer runs on.
func (r *Router) Down() {
	r.mu.Lock()
	server := r.grpc
	r.down = true
	r.mu.Unlock()
	server.Stop()
}

// IsDown reports whether it is unreachable, or about to be.
func (r *Router) IsDown() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.down
}

// Inject turns a fault on.
func (r *Router) Inject(f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[f] = true
}

// Clear turns all faults off.
func (r *Router) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.faults)
}

// once takes a fault that happens one time.
func (r *Router) once(f Fault) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.faults[f]
	delete(r.faults, f)
	return was
}

func (r *Router) has(f Fault) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.faults[f]
}

// Entries is what the router holds.
func (r *Router) Entries() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.entries)
}

// Edit changes an entry behind Millrace's back; empty removes it.
func (r *Router) Edit(path, entry string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if entry == "" {
		delete(r.entries, path)
		return
	}
	r.entries[path] = entry
}

// Pending reports whether a commit waits for its confirmation.
func (r *Router) Pending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending != nil
}

// Expire is the end of the time a commit waits for its confirmation: what is pending is rolled back.
func (r *Router) Expire() {
	if id := r.pendingID(); id != "" {
		r.finish(id, true) //nolint:errcheck // it may be confirmed by now
	}
}

func (r *Router) pendingID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending == nil {
		return ""
	}
	return r.pending.id
}

// Hangs reports whether a call is at the router that gets no answer.
func (r *Router) Hangs() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hanging > 0
}

// TimeOut lets the time of a call that hangs run out; it waits for one.
func (r *Router) TimeOut() { r.timeouts <- struct{}{} }

// Refused counts the confirmations and cancellations that failed.
func (r *Router) Refused() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}

// Election is the high half of the highest election id that a Set had, of any role.
func (r *Router) Election() (term uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range r.elections {
		term = max(term, id[0])
	}
	return term
}

// Commits counts the transactions that changed the router.
func (r *Router) Commits() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.commits
}

// Capabilities implements gNMI.
func (r *Router) Capabilities(context.Context, *gnmi.CapabilityRequest) (*gnmi.CapabilityResponse, error) {
	out := &gnmi.CapabilityResponse{GNMIVersion: "0.10.0", SupportedEncodings: []gnmi.Encoding{gnmi.Encoding_JSON_IETF}}
	for m, version := range map[string]string{"openconfig-defined-sets": "1.1.0", "openconfig-qos": "2.2.0", "openconfig-network-instance": "4.7.0",
		"openconfig-policy-forwarding": "1.2.0", "te-qos-ext": "0.2.0"} {
		out.SupportedModels = append(out.SupportedModels, &gnmi.ModelData{Name: m, Version: version})
	}
	return out, nil
}

// Get implements gNMI for the roots of entries and the state that Verify reads.
func (r *Router) Get(_ context.Context, req *gnmi.GetRequest) (*gnmi.GetResponse, error) {
	if r.Pending() {
		r.at(Verifying)
	}
	out := &gnmi.GetResponse{}
	for _, p := range req.GetPath() {
		raw, err := r.document(req.GetType(), p)
		if err != nil {
			return nil, err
		}
		out.Notification = append(out.Notification, &gnmi.Notification{Timestamp: time.Now().UnixNano(), Update: []*gnmi.Update{{
			Path: p, Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: raw}},
		}}})
	}
	return out, nil
}

func (r *Router) document(kind gnmi.GetRequest_DataType, p *gnmi.Path) ([]byte, error) {
	path, err := formatPath(p)
	if err != nil {
		return nil, err
	}
	var raw []byte
	if kind == gnmi.GetRequest_STATE {
		raw, err = r.state(path)
	} else if path == configentry.AnyCircuit {
		raw, err = configentry.Assemble(configentry.Circuits.Root, r.Entries())
	} else {
		raw, err = configentry.Assemble(path, r.Entries())
	}
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if raw == nil {
		return nil, status.Errorf(codes.NotFound, "nothing at %s", path)
	}
	return raw, nil
}
