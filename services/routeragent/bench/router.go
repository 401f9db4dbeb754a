package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/services/routeragent"
	"github.com/millrace/millrace/services/routeragent/labtest"
)

// bed stands in for a test, so that the makers of namespaces and certificates serve here too.
type bed struct {
	testing.TB
	undo []func()
}

// inBed runs work on a bed; what a maker cannot make comes back as an error.
func inBed(work func(*bed) error) (err error) {
	b := &bed{}
	defer func() {
		for _, f := range slices.Backward(b.undo) {
			f()
		}
		if p, ok := recover().(fault); ok {
			err = p
		}
	}()
	return work(b)
}

type fault struct{ error }

func (b *bed) Helper()                   {}
func (b *bed) Name() string              { return "bench" }
func (b *bed) Cleanup(f func())          { b.undo = append(b.undo, f) }
func (b *bed) Context() context.Context  { return context.Background() }
func (b *bed) Fatal(args ...any)         { panic(fault{fmt.Errorf("%s", fmt.Sprint(args...))}) }
func (b *bed) Fatalf(s string, a ...any) { panic(fault{fmt.Errorf(s, a...)}) }

func (b *bed) TempDir() string {
	dir, err := os.MkdirTemp("", "millrace-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// target is an agent in a namespace of its own, with a client over mutual TLS.
type target struct {
	router *labtest.Router
	client gnmi.GNMIClient
}

const maxMessage = 64 << 20

func newTarget(b *bed) (*target, error) {
	x := &target{router: labtest.NewRouter(b)}
	keys := pki.New(b)
	cert, key := keys.Issue(b, "router", "127.0.0.1")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	line := routeragent.Interface{Speed: 100e6, Buffer: 1250000}
	agent, err := routeragent.New(routeragent.Configuration{
		Name: "r1", DataDir: b.TempDir(), FRRInstance: "none", TLS: routeragent.TLS{Cert: cert, Key: key, CA: keys.CA},
		Interfaces: map[string]routeragent.Interface{"ge-a": line, "ge-b": line},
		Roles:      map[string]routeragent.Role{"operator": routeragent.RoleOperator},
	}, routeragent.Dependencies{Log: slog.New(slog.DiscardHandler), Namespace: &x.router.NS, Listener: l})
	if err != nil {
		return nil, err
	}
	if err := agent.Start(b.Context()); err != nil {
		return nil, err
	}
	b.Cleanup(func() { _ = agent.Stop(context.Background()) })
	c := keys.Client(b, "operator")
	c.ServerName, c.MinVersion = "127.0.0.1", tls.VersionTLS13
	conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(c)),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return nil, err
	}
	b.Cleanup(func() { conn.Close() })
	x.client = gnmi.NewGNMIClient(conn)
	return x, nil
}

func (x *target) set(req *gnmi.SetRequest) error {
	_, err := x.client.Set(context.Background(), req)
	return err
}
