// Package junostest is a router for tests that behaves as published material describes Junos' gNMI server: real gNMI
// over mutual TLS on the loopback, configuration text by origin cli with a commit check, and the known peculiarities on
// demand (gnmi.md section 2.2). It has never been compared with a device.
//
// In: SetRequests, quirks. Out: answers, and the router's configuration. Next: tests of services/push and of its driver
// for Junos.
package junostest

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient/gnmitest"
	"github.com/millrace/millrace/internal/junosconf"
)

// Quirk is something Junos may do; all are off at first.
type Quirk string

// The quirks.
const (
	// GetFails: Get answers an error to every request (akvorado issue 759).
	GetFails Quirk = "get-fails"
	// IgnoresCommit: the Commit extension is passed over, so that a Set stays for good.
	IgnoresCommit Quirk = "ignores-commit"
	// IgnoresDelete: delete lines are accepted and do nothing.
	IgnoresDelete Quirk = "ignores-delete"
	// RefusesLines: only text with braces is configuration.
	RefusesLines Quirk = "refuses-lines"
	// SilentEverywhere: Subscribe answers nothing in any encoding.
	SilentEverywhere Quirk = "silent"
	// NoProto: PROTO is not announced.
	NoProto Quirk = "no-proto"
	// OnlyIETF: JSON_IETF alone is announced, in which Subscribe answers nothing.
	OnlyIETF Quirk = "only-ietf"
	// LSPsDown: RSVP did not bring the LSPs up.
	LSPsDown Quirk = "lsps-down"
	// LSPsUnknown: their state is not streamed.
	LSPsUnknown Quirk = "lsps-unknown"
	// WantsPassword: requests without the user millrace are refused.
	WantsPassword Quirk = "wants-password"
)

// Password that goes with the user millrace.
const Password = "correct horse"

// Router is one gNMI target.
type Router struct {
	gnmi.UnimplementedGNMIServer
	// Device is how to reach it.
	Device device.Device

	certs gnmitest.Certs

	mu     sync.Mutex
	config *junosconf.Tree
	// own is an operator's own configuration: text by place.
	own     map[string]string
	quirks  map[Quirk]bool
	pending *pending
	// sent are the texts that were committed, in order.
	sent []string
	// counters of queues, by interface-id and queue; those at zero are not streamed.
	counters map[string]uint64
}

type pending struct {
	id     string
	before *junosconf.Tree
	timer  *time.Timer
}

// Start makes a router and serves it.
func Start(t testing.TB, name string, certs gnmitest.Certs) *Router {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Router{
		Device: device.Device{Name: name, Address: l.Addr().String(), OS: device.OSJunos},
		certs:  certs, config: junosconf.New(), own: map[string]string{}, quirks: map[Quirk]bool{}, counters: map[string]uint64{},
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(certs.Server)))
	gnmi.RegisterGNMIServer(server, r)
	go server.Serve(l) //nolint:errcheck // ends with Stop
	t.Cleanup(server.Stop)
	return r
}

// Turn switches quirks on.
func (r *Router) Turn(on ...Quirk) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range on {
		r.quirks[q] = true
	}
}

func (r *Router) has(q Quirk) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quirks[q]
}

// Config is what the router holds.
func (r *Router) Config() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.config.Text()
}

// Load changes the configuration behind Millrace's back.
func (r *Router) Load(text string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.config.Load(text)
}

// Own sets an operator's own configuration at a place such as "class-of-service interfaces".
func (r *Router) Own(place, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own[place] = text
}

// Count sets a queue's transmit counter.
func (r *Router) Count(port, queue string, packets uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counters[port+" "+queue] = packets
}

// Pending reports whether a commit waits for its confirmation.
func (r *Router) Pending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending != nil
}

// Sent are the texts that were committed.
func (r *Router) Sent() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sent)
}

// show is the text at a place, as `show configuration` prints it.
func (r *Router) show(place []string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch v := r.config.View(); {
	case len(place) == 0:
		return r.config.Text()
	case place[0] == "version":
		return "version 24.4R1.11;\n"
	case place[0] == "groups" && len(place) == 2:
		return v.Entry("groups", place[1]).Text()
	case place[0] == "apply-groups" && len(v.Values("apply-groups")) > 0:
		return fmt.Sprintf("apply-groups [ %s ];\n", strings.Join(v.Values("apply-groups"), " "))
	}
	return r.own[strings.Join(place, " ")]
}
