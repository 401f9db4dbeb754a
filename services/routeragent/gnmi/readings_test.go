package gnmi

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// However many clients ask while the router is being read, one reading after it serves them all.
func TestClientsShareAReading(t *testing.T) {
	const clients = 50
	var begun atomic.Int32
	hold := make(chan struct{})
	r := &router{config: queues(t, 1), read: func(ctx context.Context) (*tree.Node, error) {
		begun.Add(1)
		<-hold
		return tree.New(), nil
	}}
	s := serverOf(r)
	var all sync.WaitGroup
	ask := func() {
		if _, err := s.readings.get(t.Context(), 1); err != nil {
			t.Error(err)
		}
	}
	all.Go(ask)
	await.True(t, "a reading has begun", func() bool { return begun.Load() == 1 })
	for range clients {
		all.Go(ask)
	}
	await.True(t, "all wait", func() bool {
		s.readings.mu.Lock()
		defer s.readings.mu.Unlock()
		return s.readings.next[1] != nil && s.readings.next[1].waiting == clients
	})
	close(hold)
	all.Wait()
	if begun.Load() != 2 {
		t.Errorf("%d readings for %d clients, want the one that was under way and one for the others", begun.Load(), clients+1)
	}
}

// Readings of a router on which nothing changes are one tree in memory.
func TestReadingsOfTheSameAreOneTree(t *testing.T) {
	r := &router{config: queues(t, 10), read: func(context.Context) (*tree.Node, error) {
		n := tree.New()
		n.Into("interfaces").Entry("interface", "x").Into("state").Set("mtu", 1500)
		return n, nil
	}}
	s := serverOf(r)
	a, err := s.readings.get(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.readings.get(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for name := range a.both.Members {
		if a.both.Members[name] != b.both.Members[name] {
			t.Errorf("%s is in memory twice", name)
		}
	}
	runtime.KeepAlive(a)
}

// The work of a client that has left ends, in the router too.
func TestNobodyWaitsForAReadingThatNobodyWants(t *testing.T) {
	began, given := make(chan struct{}), make(chan struct{})
	r := &router{config: queues(t, 1), read: func(ctx context.Context) (*tree.Node, error) {
		began <- struct{}{}
		<-ctx.Done()
		given <- struct{}{}
		return nil, ctx.Err()
	}}
	s := serverOf(r)
	for _, call := range []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := s.Get(ctx, &gnmi.GetRequest{Encoding: gnmi.Encoding_PROTO})
			return err
		},
		func(ctx context.Context) error {
			return s.Subscribe(&once{ctx: ctx, list: wide(gnmi.SubscriptionList_ONCE)})
		},
	} {
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- call(ctx) }()
		<-began
		leave()
		<-given
		if err := <-done; status.Code(err) != codes.Canceled {
			t.Errorf("the call ended with %v, want CANCELED", err)
		}
	}
}

// A client that leaves in the midst of its answer gets no more of it, and costs no more.
func TestOnceEndsWithItsClient(t *testing.T) {
	s := serverOf(&router{config: queues(t, 5*maxUpdates)})
	ctx, leave := context.WithCancel(t.Context())
	messages := 0
	err := s.Subscribe(&once{ctx: ctx, list: wide(gnmi.SubscriptionList_ONCE), send: func(*gnmi.SubscribeResponse) error {
		messages++
		leave()
		return nil
	}})
	if status.Code(err) != codes.Canceled || messages != 1 {
		t.Errorf("%d messages after the client left, and then %v", messages, err)
	}
	get, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.Get(get, &gnmi.GetRequest{Encoding: gnmi.Encoding_PROTO}); status.Code(err) != codes.Canceled {
		t.Errorf("Get of a client that left: %v", err)
	}
}

// ONCE makes no more of an answer than Get does, and holds one message of it at a time.
func TestOnceCostsNoMoreThanGet(t *testing.T) {
	s := serverOf(&router{config: queues(t, 20000)})
	get := allocated(func() {
		if _, err := s.Get(t.Context(), &gnmi.GetRequest{Encoding: gnmi.Encoding_PROTO}); err != nil {
			t.Error(err)
		}
	})
	leaves := 0
	sub := allocated(func() {
		err := s.Subscribe(&once{ctx: t.Context(), list: wide(gnmi.SubscriptionList_ONCE), send: func(r *gnmi.SubscribeResponse) error {
			leaves += len(r.GetUpdate().GetUpdate())
			return nil
		}})
		if err != nil {
			t.Error(err)
		}
	})
	if leaves != 40000 {
		t.Errorf("ONCE sent %d leaves, want two of each queue", leaves)
	}
	if sub > get {
		t.Errorf("ONCE allocates %d bytes, Get %d", sub, get)
	}
	t.Logf("ONCE allocates %d bytes, Get %d", sub, get)
}

// Clients that request everything and read nothing hold one message each, and share the tree.
func TestClientsThatReadNothingHoldLittle(t *testing.T) {
	const clients = 20
	s := serverOf(&router{config: queues(t, 20000)})
	one := allocated(func() {
		err := s.Subscribe(&once{ctx: t.Context(), list: wide(gnmi.SubscriptionList_ONCE), send: func(*gnmi.SubscribeResponse) error { return nil }})
		if err != nil {
			t.Error(err)
		}
	})
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	var stuck atomic.Int32
	release := make(chan struct{})
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			err := s.Subscribe(&once{ctx: t.Context(), list: wide(gnmi.SubscriptionList_ONCE), send: func(*gnmi.SubscribeResponse) error {
				stuck.Add(1)
				<-release
				return context.Canceled
			}})
			if err == nil {
				t.Error("a client that left got all")
			}
		})
	}
	await.True(t, "all clients have a message that they do not read", func() bool { return stuck.Load() == clients })
	grown := int64(heap()) - int64(before)
	close(release)
	all.Wait()
	if grown > 2*int64(one) { // a message has a twentieth of all, so they hold about one; without that bound it is 20
		t.Errorf("%d clients that read nothing hold %d bytes; all that is made for one who reads is %d", clients, grown, one)
	}
	t.Logf("%d clients hold %d bytes; one who reads is made %d", clients, grown, one)
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestAnAnswerIsBounded(t *testing.T) {
	s := serverOf(&router{config: queues(t, 1000)})
	s.maxAnswer = 10_000
	for _, enc := range encodings {
		if _, err := s.Get(t.Context(), &gnmi.GetRequest{Encoding: enc}); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("%s: %v, want RESOURCE_EXHAUSTED", enc, err)
		}
		small := &gnmi.GetRequest{Encoding: enc, Path: []*gnmi.Path{at(t, "/qos/queues/queue[name=q1]").Proto()}}
		if _, err := s.Get(t.Context(), small); err != nil {
			t.Errorf("%s: %v", enc, err)
		}
	}
}

// Without room in memory nothing is read.
func TestWithoutRoomNothingIsRead(t *testing.T) {
	s := serverOf(&router{config: queues(t, 1)})
	s.deps.Room = func() error { return status.Error(codes.ResourceExhausted, "full") }
	s.readings.deps.Room = s.deps.Room
	if _, err := s.Get(t.Context(), &gnmi.GetRequest{}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("Get: %v", err)
	}
	if err := s.Subscribe(&once{ctx: t.Context(), list: wide(gnmi.SubscriptionList_ONCE)}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("Subscribe: %v", err)
	}
}
