package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	"github.com/millrace/millrace/proto/gen/millrace/event/v1/eventv1connect"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

const echoProcedure = "/test.Echo/Bidi"

// watcher streams as many events as are asked for, then waits for the caller to go.
type watcher struct{ ended chan error }

func (w watcher) Watch(ctx context.Context, r *connect.Request[eventv1.WatchRequest], s *connect.ServerStream[eventv1.WatchResponse]) error {
	for i := range r.Msg.GetRecent() {
		if err := s.Send(&eventv1.WatchResponse{Event: &eventv1.Event{Text: fmt.Sprint(i)}}); err != nil {
			return err
		}
	}
	<-ctx.Done()
	w.ended <- ctx.Err()
	return ctx.Err()
}

func echo(_ context.Context, s *connect.BidiStream[eventv1.Event, eventv1.Event]) error {
	for {
		m, err := s.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Send(m); err != nil {
			return err
		}
	}
}

func serve(t *testing.T) (*Local, watcher) {
	t.Helper()
	w := watcher{ended: make(chan error, 1)}
	mux := http.NewServeMux()
	mux.Handle(eventv1connect.NewEventServiceHandler(w))
	mux.Handle(echoProcedure, connect.NewBidiStreamHandler(echoProcedure, echo))
	mux.HandleFunc("/protocol", func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, r.Proto) })
	l := NewLocal(mux)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l, w
}

func TestLocalSpeaksBothProtocols(t *testing.T) {
	l, _ := serve(t)
	one := new(http.Protocols)
	one.SetHTTP1(true)
	for want, client := range map[string]*http.Client{
		"HTTP/1.1": {Transport: &http.Transport{DialContext: l.pipes.dial, Protocols: one, DisableKeepAlives: true}},
		"HTTP/2.0": l.Client(),
	} {
		t.Run(want, func(t *testing.T) {
			if got := protocol(t, client); got != want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func protocol(t *testing.T, client *http.Client) string {
	t.Helper()
	r, err := client.Get(LocalURL + "/protocol")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestLocalStreamsFromTheServer(t *testing.T) {
	l, w := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := eventv1connect.NewEventServiceClient(l.Client(), LocalURL).Watch(ctx, connect.NewRequest(&eventv1.WatchRequest{Recent: 3}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if !stream.Receive() || stream.Msg().GetEvent().GetText() != fmt.Sprint(i) {
			t.Fatalf("message %d: got %v, %v", i, stream.Msg(), stream.Err())
		}
	}
	cancel()
	if err := <-w.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler's context after the caller left: got %v, want canceled", err)
	}
}

func TestLocalStreamsInBothDirectionsAtOnce(t *testing.T) {
	l, _ := serve(t)
	for _, c := range []struct {
		name   string
		option connect.ClientOption
	}{{"Connect", connect.WithClientOptions()}, {"gRPC", connect.WithGRPC()}} {
		t.Run(c.name, func(t *testing.T) {
			client := connect.NewClient[eventv1.Event, eventv1.Event](l.Client(), LocalURL+echoProcedure, c.option)
			var callers sync.WaitGroup
			for range 4 {
				callers.Go(func() { pingPong(t, client) })
			}
			callers.Wait()
		})
	}
}

// pingPong sends the next message only after it got the last one back, so a
// transport that buffers one direction would hang. Messages are larger than an
// HTTP/2 window.
func pingPong(t *testing.T, client *connect.Client[eventv1.Event, eventv1.Event]) {
	stream := client.CallBidiStream(t.Context())
	for i := range 5 {
		text := strings.Repeat(fmt.Sprint(i), 100_000)
		if err := stream.Send(&eventv1.Event{Text: text}); err != nil {
			t.Error(err)
			return
		}
		got, err := stream.Receive()
		if err != nil || got.GetText() != text {
			t.Errorf("message %d came back wrong: %v", i, err)
			return
		}
	}
	if err := errors.Join(stream.CloseRequest(), stream.CloseResponse()); err != nil {
		t.Error(err)
	}
}

func TestLocalCloseEndsStreamsAndRefusesCalls(t *testing.T) {
	l, w := serve(t)
	client := eventv1connect.NewEventServiceClient(l.Client(), LocalURL)
	stream, err := client.Watch(t.Context(), connect.NewRequest(&eventv1.WatchRequest{Recent: 1}))
	if err != nil {
		t.Fatal(err)
	}
	if !stream.Receive() {
		t.Fatal(stream.Err())
	}
	for range 2 { // closing twice is allowed
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if stream.Receive() || stream.Err() == nil {
		t.Error("the stream went on after Close")
	}
	if err := <-w.ended; err == nil {
		t.Error("the handler's context did not end")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	stream, err = client.Watch(ctx, connect.NewRequest(&eventv1.WatchRequest{}))
	if err == nil {
		stream.Receive()
		err = stream.Err()
	}
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call after Close: got %v, want it refused at once", err)
	}
}

func TestLocalAnswersAreNotCompressed(t *testing.T) {
	_, handler := flowv1connect.NewFlowStoreServiceHandler(seen{pairs: 1000}, Bounded(MaxRequest))
	encodings := make(chan string, 1)
	l := NewLocal(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
		encodings <- w.Header().Get("Content-Encoding") + w.Header().Get("Grpc-Encoding")
	}))
	defer l.Close()
	for name, option := range map[string]connect.ClientOption{"Connect": connect.WithClientOptions(), "gRPC": connect.WithGRPC(), "gRPC-Web": connect.WithGRPCWeb()} {
		got, err := flowv1connect.NewFlowStoreServiceClient(l.Client(), LocalURL, option).LastSeen(t.Context(), connect.NewRequest(&flowv1.LastSeenRequest{}))
		if err != nil || len(got.Msg.GetPairs()) != 1000 {
			t.Fatalf("%s: %d pairs, %v", name, len(got.Msg.GetPairs()), err)
		}
		if encoding := <-encodings; encoding != "" {
			t.Errorf("%s: compressed by %s", name, encoding)
		}
	}
}
