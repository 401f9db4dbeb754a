// Package gnmitest is a gNMI server for tests: real gRPC over real mutual TLS
// on the loopback, answering with what the test recorded.
//
// In: JSON documents per path, streams as functions. Out: a device to dial.
// Next: tests of internal/gnmiclient, collectors/topology, collectors/telemetry.
package gnmitest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/testkit/ports"
)

// Server is one router of a test.
type Server struct {
	gnmi.UnimplementedGNMIServer
	// Device is how to reach it.
	Device device.Device
	// OnSubscribe serves one stream; nil refuses Subscribe.
	OnSubscribe func(req *gnmi.SubscriptionList, stream gnmi.GNMI_SubscribeServer) error
	// OnGet is called before Get answers for a path; an error is the answer.
	OnGet func(ctx context.Context, path string) error
	// OnSet serves Set; nil refuses it.
	OnSet func(*gnmi.SetRequest) (*gnmi.SetResponse, error)

	certs Certs
	mu    sync.Mutex
	docs  map[string]string
	grpc  *grpc.Server
}

// New makes a server that is not yet listening, so that a test can fill it first.
func New(t testing.TB, name string, certs Certs) *Server {
	return &Server{Device: device.Device{Name: name}, certs: certs, docs: map[string]string{}}
}

// Serve records the JSON_IETF document that Get answers for exactly this path;
// an empty document makes the path absent again.
func (s *Server) Serve(path, doc string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if doc == "" {
		delete(s.docs, path)
		return
	}
	s.docs[path] = doc
}

// Start listens, on the same port as before after a Stop.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if s.Device.Address == "" {
		s.Device.Address = ports.Loopback(t)
	}
	l, err := net.Listen("tcp", s.Device.Address)
	if err != nil {
		t.Fatalf("listen for %s: %v", s.Device.Name, err)
	}
	s.Device.Address = l.Addr().String()
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(s.certs.Server)))
	gnmi.RegisterGNMIServer(server, s)
	s.mu.Lock()
	s.grpc = server
	s.mu.Unlock()
	go server.Serve(l) //nolint:errcheck // ends with Stop
	t.Cleanup(s.Stop)
}

// Stop kills the server and all its streams, as a router that fails does.
func (s *Server) Stop() {
	s.mu.Lock()
	server := s.grpc
	s.mu.Unlock()
	server.Stop()
}

// Capabilities implements gNMI.
func (s *Server) Capabilities(context.Context, *gnmi.CapabilityRequest) (*gnmi.CapabilityResponse, error) {
	return &gnmi.CapabilityResponse{
		GNMIVersion:        "0.10.0",
		SupportedEncodings: []gnmi.Encoding{gnmi.Encoding_JSON_IETF, gnmi.Encoding_PROTO},
		SupportedModels:    []*gnmi.ModelData{{Name: "openconfig-interfaces", Version: "3.0.2"}},
	}, nil
}

// Get implements gNMI: one notification per path, NOT_FOUND for a path not recorded.
func (s *Server) Get(ctx context.Context, req *gnmi.GetRequest) (*gnmi.GetResponse, error) {
	out := &gnmi.GetResponse{}
	for _, p := range req.GetPath() {
		path, err := gnmiclient.FormatPath(p)
		if err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
		if s.OnGet != nil {
			if err := s.OnGet(ctx, path); err != nil {
				return nil, err
			}
		}
		doc, ok := s.doc(path)
		if !ok {
			return nil, status.Errorf(codes.NotFound, "nothing at %s", path)
		}
		out.Notification = append(out.Notification, &gnmi.Notification{
			Timestamp: time.Now().UnixNano(),
			Update: []*gnmi.Update{{
				Path: p, Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(doc)}},
			}},
		})
	}
	return out, nil
}

func (s *Server) doc(path string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	doc, ok := s.docs[path]
	return doc, ok
}

// Set implements gNMI.
func (s *Server) Set(_ context.Context, req *gnmi.SetRequest) (*gnmi.SetResponse, error) {
	if s.OnSet == nil {
		return nil, status.Error(codes.Unimplemented, "no Set in this test")
	}
	return s.OnSet(req)
}

// Subscribe implements gNMI.
func (s *Server) Subscribe(stream gnmi.GNMI_SubscribeServer) error {
	req, err := stream.Recv()
	if err != nil {
		return err
	}
	if s.OnSubscribe == nil {
		return status.Error(codes.Unimplemented, "no Subscribe in this test")
	}
	return s.OnSubscribe(req.GetSubscribe(), stream)
}
