// Package gnmi is the agent's gNMI service.
//
// In: gNMI requests. Out: answers as the gNMI specification 0.10 asks, each
// error with the code of its section. Next: the client; changes go to
// services/routeragent/apply.
package gnmi

import (
	"context"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/services/routeragent/apply"
	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/model"
	"github.com/millrace/millrace/services/routeragent/state"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// version of the gNMI specification served.
const version = "0.10.0"

// State reads operational state; state.Reader is the real one.
type State interface {
	Parts(paths ...tree.Path) state.Parts
	Read(ctx context.Context, parts state.Parts) (*tree.Node, error)
}

// Store has the configuration; apply.Store is the real one.
type Store interface {
	Running() (*tree.Node, intent.Plan)
	Changed() <-chan struct{}
	Edit(ctx context.Context, edit func(*tree.Node) error, confirm *apply.Confirmation) error
	Confirm(id string) error
	Cancel(ctx context.Context, id string) error
	Extend(id string, d time.Duration) error
}

// Dependencies of a Server.
type Dependencies struct {
	Store Store
	State State
	// Wake is what may have changed state: links and routes.
	Wake *Signal
	// Room refuses to read while the agent holds too much memory; nil: it always may.
	Room func() error
}

// Server answers gNMI.
type Server struct {
	gnmi.UnimplementedGNMIServer
	deps     Dependencies
	election election
	readings *readings
	// building holds a place for each answer to Get that is put together at the moment.
	building chan struct{}
	// maxAnswer bounds an answer to Get, in bytes.
	maxAnswer int
	// lookEvery is the time between readings for subscriptions ON_CHANGE without an event, lookAfter that from an event
	// to one more reading: what follows from the event comes later, and part of a reading may have been stored before.
	lookEvery, lookAfter time.Duration
}

// PerClient is how many answers to Get one client should have in the making: a slow one of state must not hold up
// another of configuration. There is room for one more, so that no client takes all.
const PerClient = 2

// Limits of Get, which unlike Subscribe has its answer in memory whole.
const (
	maxBuilding = PerClient + 1
	maxAnswer   = 64 << 20
)

// New is a server; register it with gRPC.
func New(deps Dependencies) *Server {
	if deps.Room == nil {
		deps.Room = func() error { return nil }
	}
	return &Server{deps: deps, readings: newReadings(deps), building: make(chan struct{}, maxBuilding), maxAnswer: maxAnswer,
		lookEvery: lookInterval, lookAfter: state.DatabaseAge}
}

var encodings = []gnmi.Encoding{gnmi.Encoding_JSON, gnmi.Encoding_JSON_IETF, gnmi.Encoding_PROTO}

// Capabilities says what is spoken (gNMI section 3.2).
func (s *Server) Capabilities(_ context.Context, req *gnmi.CapabilityRequest) (*gnmi.CapabilityResponse, error) {
	for _, e := range req.GetExtension() {
		return nil, refuse(e, "Capabilities")
	}
	return &gnmi.CapabilityResponse{SupportedModels: Models(), SupportedEncodings: encodings, GNMIVersion: version}, nil
}

// Models are the modules of which the agent implements something: those whose
// nodes there can be data of, and those that define nodes for openconfig-network-instance
// to take over as its own, which a client looks for by their own names.
func Models() []*gnmi.ModelData {
	ours := map[string]bool{"openconfig-policy-forwarding": true, "openconfig-mpls": true}
	for node := range implemented() {
		ours[node.Module] = true
	}
	var out []*gnmi.ModelData
	for _, m := range model.Modules {
		if ours[m.Name] {
			out = append(out, &gnmi.ModelData{Name: m.Name, Organization: m.Organization, Version: m.Version})
		}
	}
	return out
}
