package routeragent_test

import (
	"context"
	"net"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/millrace/millrace/services/routeragent"
)

// TestSetsOfOneClientArePaced, and what ends a commit is taken all the same.
func TestSetsOfOneClientArePaced(t *testing.T) {
	x := newTarget(t)
	x.stop()
	x.registry = prometheus.NewRegistry()
	x.cfg.SetsPerSecond = 1e-6
	x.cfg.Roles["other"] = routeragent.RoleOperator
	x.start()
	const queue = "update /qos/queues/queue[name=a]/config/queue-id 1"
	wantCode(t, x.set(commit(x.request(queue), trial("c1", nil))), codes.OK)
	wantCode(t, x.set(commit(&gnmi.SetRequest{}, confirm("c1"))), codes.OK)
	wantCode(t, x.set(x.request(queue)), codes.ResourceExhausted)
	conn := x.dial(x.clientTLS("other"))
	defer conn.Close()
	_, err := gnmi.NewGNMIClient(conn).Set(t.Context(), x.request(queue))
	wantCode(t, err, codes.OK)
	if n := x.count(`millrace_services_routeragent_refused_calls_total{reason="rate"}`); n != 1 {
		t.Errorf("%v refusals counted", n)
	}
	if got := x.log.lines("event=set", "result=ResourceExhausted"); len(got) != 1 {
		t.Errorf("%d lines", len(got))
	}
}

// TestSetsUnderWayOfOneClientAreBounded: each may be a message of 64 MiB, of which the agent has nothing to show yet.
func TestSetsUnderWayOfOneClientAreBounded(t *testing.T) {
	x := newTarget(t)
	x.stop()
	x.cfg.Roles["other"] = routeragent.RoleOperator
	x.start()
	conn := x.dial(x.clientTLS("other"))
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range routeragent.MaxSets {
		if _, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, gnmi.GNMI_Set_FullMethodName); err != nil {
			t.Fatal(err)
		}
	}
	other := gnmi.NewGNMIClient(conn)
	_, err := other.Set(t.Context(), &gnmi.SetRequest{})
	wantCode(t, err, codes.ResourceExhausted)
	_, err = other.Capabilities(t.Context(), &gnmi.CapabilityRequest{})
	wantCode(t, err, codes.OK)
	wantCode(t, x.set(&gnmi.SetRequest{}), codes.OK)
}

// TestAGreedyClientLeavesRoomForTheController: neither a viewer's connections nor those of somebody without a
// certificate, from the controller's own address, keep it out.
func TestAGreedyClientLeavesRoomForTheController(t *testing.T) {
	x := newTarget(t)
	x.stop()
	x.registry = prometheus.NewRegistry()
	x.cfg.Roles["greedy"] = routeragent.RoleViewer
	x.start()
	_, err := x.client.Capabilities(t.Context(), &gnmi.CapabilityRequest{})
	wantCode(t, err, codes.OK)
	creds := x.clientTLS("greedy")
	calls := func() error {
		conn := x.dial(creds)
		t.Cleanup(func() { conn.Close() })
		_, err := gnmi.NewGNMIClient(conn).Capabilities(t.Context(), &gnmi.CapabilityRequest{})
		return err
	}
	for range routeragent.MaxPerClient {
		wantCode(t, calls(), codes.OK)
	}
	wantCode(t, calls(), codes.ResourceExhausted)
	for range 2 * routeragent.MaxPerAddress {
		conn, err := net.Dial("tcp", x.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
	}
	again := x.dial(x.clientTLS("operator"))
	defer again.Close()
	for _, conn := range []*grpc.ClientConn{x.conn, again} {
		_, err := gnmi.NewGNMIClient(conn).Set(t.Context(), &gnmi.SetRequest{})
		wantCode(t, err, codes.OK)
	}
	if n := x.count(`millrace_services_routeragent_refused_calls_total{reason="client-connections"}`); n != 1 {
		t.Errorf("%v refusals of calls counted", n)
	}
	if n := x.count(`millrace_services_routeragent_closed_connections_total{reason="address"}`); n == 0 {
		t.Error("no closed connection is counted")
	}
}

// TestACallThatThereIsNot is refused at the gate, for the controller too, and for a stranger as any other.
func TestACallThatThereIsNot(t *testing.T) {
	x := newTarget(t)
	stranger := x.dial(x.clientTLS("stranger"))
	defer stranger.Close()
	for conn, want := range map[*grpc.ClientConn]codes.Code{x.conn: codes.Unimplemented, stranger: codes.PermissionDenied} {
		wantCode(t, conn.Invoke(t.Context(), "/gnmi.gNMI/Reboot", &gnmi.GetRequest{}, &gnmi.GetResponse{}), want)
	}
}
