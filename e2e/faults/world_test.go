package faults

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/gnmiclient/gnmitest"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/faults"
	"github.com/millrace/millrace/internal/testkit/kafka"
	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/tworouters"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/services/push/pushtest"
)

// world is the services that make and push change sets, each in a process of its own, and two routers.
type world struct {
	dir, host string
	etcd      *etcd.Server
	kafka     string
	running   map[string]*program.Process
	routers   map[string]*router
	changes   pushv1connect.ChangeServiceClient
	// before and after are what each router holds without and with the policy.
	before, after map[string]map[string]string
}

// router is a router at the end of a link that can fail.
type router struct {
	*pushtest.Router
	name string
	link *faults.Link
}

// ports are where the services listen. Alpha wants to know where a flow store would be; none of this needs one.
var ports = map[string]int{"paths": 7005, "policy": 7006, "push": 7007, "alpha": 7008}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), host: program.OwnHost(), running: map[string]*program.Process{}, routers: map[string]*router{}}
	w.kafka, w.etcd = kafka.Start(t).Addr, etcd.Start(t, w.host)
	ca := pki.New(t)
	certs := w.certificates(t, ca)
	for _, name := range []string{"WR", "ER"} {
		r := pushtest.Start(t, name, certs)
		w.routers[name] = &router{r, name, faults.NewLink(t, net.JoinHostPort(w.host, "0"), r.Device.Address)}
	}
	w.configure(t, ca)
	t.Cleanup(func() { w.stop(t) })
	for name := range ports {
		w.launch(t, name)
	}
	for name, p := range w.running {
		p.WaitReady(t, w.url(name))
	}
	w.changes = pushv1connect.NewChangeServiceClient(http.DefaultClient, w.url("push"))
	tworouters.Tell(t, w.kafka, w.url("paths"), time.Now())
	w.learn(t)
	return w
}

// certificates are the routers'.
func (w *world) certificates(t *testing.T, ca *pki.Authority) gnmitest.Certs {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(ca.Issue(t, "router", w.host))
	if err != nil {
		t.Fatal(err)
	}
	return gnmitest.Certs{Server: &tls.Config{
		Certificates: []tls.Certificate{cert}, ClientCAs: ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}}
}

// learn sees what the routers hold before and after a change set that nothing disturbs.
func (w *world) learn(t *testing.T) {
	t.Helper()
	w.before = w.entries()
	w.verified(t)
	w.after = w.entries()
	for name, entries := range w.after {
		if len(entries) == 0 {
			t.Fatalf("the policy gives %s nothing to hold", name)
		}
	}
	w.wipe()
}

func (w *world) entries() map[string]map[string]string {
	out := map[string]map[string]string{}
	for name, r := range w.routers {
		out[name] = r.Entries()
	}
	return out
}

// wipe leaves routers as they were before any change set, faultless.
func (w *world) wipe() {
	for name, r := range w.routers {
		r.Clear()
		for path := range r.Entries() {
			r.Edit(path, w.before[name][path])
		}
	}
}

func (w *world) url(name string) string { return fmt.Sprintf("http://%s:%d", w.host, ports[name]) }

func (w *world) launch(t *testing.T, name string) {
	w.running[name] = program.Start(t, w.dir, name, program.Path, "serve", name, "--config", filepath.Join(w.dir, "millrace.yaml"))
}

// start starts a service again.
func (w *world) start(t *testing.T, name string) {
	t.Helper()
	w.launch(t, name)
	w.running[name].WaitReady(t, w.url(name))
}

func (w *world) stop(t *testing.T) {
	for _, p := range w.running {
		p.Ask(syscall.SIGTERM)
	}
	for name, p := range w.running {
		p.Signal(t, syscall.SIGTERM)
		if t.Failed() {
			t.Logf("%s said at the end:\n%s", name, p.Tail())
		}
	}
}

// call asks until the service answers: it may have been started this moment, or be without its store.
func call[Q, A any](t *testing.T, what string, method func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), request *Q) (answer *A) {
	t.Helper()
	program.Until(t, what, func() (bool, any) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		r, err := method(ctx, connect.NewRequest(request))
		if err != nil {
			return false, err
		}
		answer = r.Msg
		return true, nil
	})
	return answer
}

func (w *world) get(id string) (*pushv1.ChangeSet, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := w.changes.Get(ctx, connect.NewRequest(&pushv1.GetRequest{Id: id}))
	if err != nil {
		return nil, err
	}
	return r.Msg.GetChange(), nil
}

// create makes a change set that is planned.
func (w *world) create(t *testing.T) string {
	t.Helper()
	cs := call(t, "a change set is made", w.changes.Create, &pushv1.CreateRequest{Policy: "geant-lbe", Author: "test"}).GetChange()
	if cs.GetState() != pushv1.State_STATE_PLANNED {
		t.Fatalf("%s is %s: %v", cs.GetId(), cs.GetState(), cs.GetHistory())
	}
	return cs.GetId()
}

// verified makes a change set and brings it to its end.
func (w *world) verified(t *testing.T) string {
	t.Helper()
	id := w.create(t)
	approveAndApply(t, w, id)
	if cs := w.end(t, id); cs.GetState() != pushv1.State_STATE_VERIFIED {
		t.Fatalf("%s, which nothing disturbed, is %s: %v", id, cs.GetState(), cs.GetHistory())
	}
	return id
}

// reached waits until a change set is at a moment.
func (w *world) reached(t *testing.T, h *pushtest.Hold, id string) {
	t.Helper()
	select {
	case <-h.Reached():
	case <-time.After(await.Patience):
		cs, err := w.get(id)
		t.Fatalf("%s does not get to the moment of its fault: %v, %v", id, cs.GetHistory(), err)
	}
}
