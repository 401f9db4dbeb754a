package routeragent_test

import (
	"context"
	"crypto/tls"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/wholefile"
	"github.com/millrace/millrace/services/routeragent"
)

// logBook keeps what an agent logs.
type logBook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// lines are those that have all the words.
func (l *logBook) lines(words ...string) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			out = append(out, line)
		}
	}
	return out
}

// A call that may not be made is refused when its headers have come: no byte of its message is waited for.
func TestACallThatMayNotBeMadeIsRefusedBeforeItsMessageIsRead(t *testing.T) {
	x := newTarget(t)
	x.stop()
	x.cfg.Roles["watcher"] = routeragent.RoleViewer
	x.start()
	conn := x.dial(x.clientTLS("watcher"))
	defer conn.Close()
	s, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, gnmi.GNMI_Set_FullMethodName)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, s.RecvMsg(&gnmi.SetResponse{}), codes.PermissionDenied)
}

// What one client has under way is bounded; what it ends makes room.
func TestCallsOfOneClientAreBounded(t *testing.T) {
	x := newTarget(t)
	x.stop()
	x.cfg.Roles["watcher"] = routeragent.RoleViewer
	x.start()
	conn := x.dial(x.clientTLS("watcher"))
	defer conn.Close()
	watcher := gnmi.NewGNMIClient(conn)
	q := list(stream, x.on(t, gnmi.SubscriptionMode_ON_CHANGE, operA))
	var leave []context.CancelFunc
	subscribe := func() error {
		ctx, cancel := context.WithCancel(t.Context())
		leave = append(leave, cancel)
		s, err := watcher.Subscribe(ctx)
		if err != nil {
			return err
		}
		_ = s.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: q}}) // its error is what Recv says
		_, err = s.Recv()
		return err
	}
	for range routeragent.MaxCalls {
		if err := subscribe(); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, subscribe(), codes.ResourceExhausted)
	_, err := x.client.Get(t.Context(), &gnmi.GetRequest{Encoding: gnmi.Encoding_PROTO}) // nobody else is held up
	wantCode(t, err, codes.OK)
	leave[0]()
	await.True(t, "a call that ended makes room", func() bool { return codeOf(subscribe()) == codes.OK })
}

// While the agent holds too much, readers are refused, and the operator's Set is not.
func TestReadersAreRefusedWhileMemoryIsShort(t *testing.T) {
	x := newTarget(t)
	x.stop()
	x.cfg.Memory = 1
	x.start()
	_, err := x.client.Get(t.Context(), &gnmi.GetRequest{Encoding: gnmi.Encoding_PROTO})
	wantCode(t, err, codes.ResourceExhausted)
	wantCode(t, x.set(x.request("update /qos/queues/queue[name=a]/config/queue-id 1")), codes.OK)
}

// Certificates, CA and users are replaced without a restart.
func TestFilesOfAccessAreReadAgain(t *testing.T) {
	x := newTarget(t)
	x.stop()
	x.cfg.Users = usersFile(t, map[string]routeragent.Role{"noc": routeragent.RoleViewer})
	x.start()
	serial := func() string {
		c, err := tls.Dial("tcp", x.addr, x.clientTLS("operator"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	before := serial()
	x.pki.Issue(t, "router", "127.0.0.1") // writes the same files again
	if serial() == before {
		t.Error("a new certificate is not used")
	}
	if err := os.WriteFile(x.cfg.TLS.Cert, []byte("half a certific"), 0o600); err != nil {
		t.Fatal(err)
	}
	if serial() == before || len(x.log.lines("cannot be used")) != 1 {
		t.Errorf("a broken certificate is not refused with one line: %v", x.log.lines("cannot be used"))
	}
	_, err := x.client.Capabilities(as(t, "noc", "right-noc"), &gnmi.CapabilityRequest{})
	wantCode(t, err, codes.OK)
	raw, err := os.ReadFile(usersFile(t, map[string]routeragent.Role{"another": routeragent.RoleViewer}))
	if err != nil {
		t.Fatal(err)
	}
	wholefile.Write(t, x.cfg.Users, string(raw))
	_, err = x.client.Capabilities(as(t, "noc", "right-noc"), &gnmi.CapabilityRequest{})
	wantCode(t, err, codes.Unauthenticated)
	_, err = x.client.Capabilities(as(t, "another", "right-another"), &gnmi.CapabilityRequest{})
	wantCode(t, err, codes.OK)
}

// Every login, refusal, Set, confirm and cancel leaves one line that says who, from where, what and with what result.
func TestTheAuditTrail(t *testing.T) {
	x := newTarget(t)
	x.stop()
	x.cfg.Roles["watcher"] = routeragent.RoleViewer
	x.cfg.Users = usersFile(t, map[string]routeragent.Role{"noc": routeragent.RoleViewer})
	x.start()
	const queue = "/qos/queues/queue[name=a]/config/queue-id"
	x.must(t, "update "+queue+" 1")
	wantCode(t, x.set(x.request("update "+queue+` "many"`)), codes.InvalidArgument)
	for _, c := range []*gnmi.SetRequest{commit(x.request("update "+queue+" 2"), trial("c1", nil)), commit(&gnmi.SetRequest{}, extend("c1", durationpb.New(1e12))), commit(&gnmi.SetRequest{}, confirm("c1")),
		commit(x.request("update "+queue+" 3"), trial("c2", nil)), commit(&gnmi.SetRequest{}, cancel("c2"))} {
		wantCode(t, x.set(c), codes.OK)
	}
	conn := x.dial(x.clientTLS("watcher"))
	defer conn.Close()
	_, err := gnmi.NewGNMIClient(conn).Set(t.Context(), x.request("delete /"))
	wantCode(t, err, codes.PermissionDenied)
	_, err = x.client.Capabilities(as(t, "noc", "wrong"), &gnmi.CapabilityRequest{})
	wantCode(t, err, codes.Unauthenticated)
	_, err = x.client.Capabilities(as(t, "noc", "right-noc"), &gnmi.CapabilityRequest{})
	wantCode(t, err, codes.OK)
	for _, words := range [][]string{
		{"event=login", "client=operator", "by=certificate"},
		{"event=login", "client=noc", "by=password"},
		{"event=set", "client=operator", "role=operator", "operations=1", "update " + queue, "result=OK"},
		{"event=set", "client=operator", "update " + queue, "result=InvalidArgument"},
		{"event=commit", "commit=c1", "update " + queue, "result=OK"},
		{"event=set_rollback_duration", "commit=c1", "result=OK"},
		{"event=confirm", "commit=c1", "result=OK"},
		{"event=commit", "commit=c2"},
		{"event=cancel", "commit=c2", "result=OK"},
		{"event=refused", "client=watcher", "call=Set", "result=PermissionDenied"},
		{"event=refused", "client=noc", "call=Capabilities", "result=Unauthenticated"},
	} {
		if got := x.log.lines(append(words, "msg=audit", "address=127.0.0.1:")...); len(got) != 1 {
			t.Errorf("%d lines with %v", len(got), words)
		}
	}
	if got := x.log.lines("wrong"); len(got) > 0 && strings.Contains(strings.Join(got, ""), "password=wrong") {
		t.Errorf("a password is in the log: %v", got)
	}
}
