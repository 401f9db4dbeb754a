package rpc

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

// Calls that change nothing, and something.
const (
	reads   = pushv1connect.ChangeServiceListProcedure
	changes = pushv1connect.ChangeServiceApproveProcedure
)

// A call goes on to the next address, whole, where no server can have had it or where it changes nothing.
func TestCallsGoOnToTheNextAddress(t *testing.T) {
	dying := func(t *testing.T) string { r := started(t); r.dies(); return r.URL }
	for name, tt := range map[string]struct {
		first func(t *testing.T) string
		// reached: the server may have done it.
		reached bool
	}{
		"nothing listens":               {gone, false},
		"the host is cut off":           {cutOff, false},
		"the server stands still":       {func(t *testing.T) string { return silent(t, 10) }, true},
		"the server dies of it":         {dying, true},
		"an address that cannot be one": {func(*testing.T) string { return "http://127.0.0.1:99999" }, false},
	} {
		for _, procedure := range []string{reads, changes} {
			for _, only := range []bool{false, true} {
				t.Run(fmt.Sprint(name, procedure, only), func(t *testing.T) {
					t.Parallel() // most of the time of some is the patience of a client
					second := started(t)
					first := tt.first(t)
					c := newCalling(nil, first, second.URL)
					said, err := c.call(t.Context(), procedure, "a body", only)
					if tt.reached && procedure == changes {
						if err == nil || second.calls.Load() != 0 || c.over(first) != 0 {
							t.Errorf("what a server may have done was done again: %q %v", said, err)
						}
						return
					}
					if want := "a body at " + procedure + " <nil>"; err != nil || said != want || c.over(first) != 1 {
						t.Errorf("%q %v, %d went on", said, err, c.over(first))
					}
				})
			}
		}
	}
}

// A large body of a gateway's client is not kept, so its call fails where a server may have read of it.
func TestLargeBodiesAreNotSentAgain(t *testing.T) {
	first, second := started(t), started(t)
	first.dies()
	c := newCalling(nil, first.URL, second.URL)
	text := strings.Repeat("x", keptMost+1)
	if _, err := c.call(t.Context(), reads, text, true); err == nil || second.calls.Load() != 0 {
		t.Errorf("%d calls, %v", second.calls.Load(), err)
	}
	if said, err := c.call(t.Context(), reads, text, false); err != nil || !strings.HasPrefix(said, text) {
		t.Errorf("with a body that its sender gives again: %v", err)
	}
}

// An address that failed is left alone, and is used again once it answers.
func TestAnAddressComesBack(t *testing.T) {
	second := started(t)
	first := gone(t)
	c := newCalling(nil, first, second.URL)
	for range 10 {
		if _, err := c.call(t.Context(), changes, "", false); err != nil {
			t.Fatal(err)
		}
	}
	if c.over(first) != 1 {
		t.Errorf("%d calls tried an address that had failed, want 1", c.over(first))
	}
	back := newReplica(t, strings.TrimPrefix(first, "http://"))
	back.Start()
	defer back.Close()
	await.True(t, "the first address is used again", func() bool {
		if _, err := c.call(t.Context(), changes, "", false); err != nil {
			t.Fatal(err)
		}
		return back.calls.Load() > 0
	})
	if c.over(first) != 1 {
		t.Errorf("%d calls tried an address to see whether it answers", c.over(first))
	}
}

// Where no address answers the error names each, and the next call tries all of them again.
func TestAllAddressesAreTried(t *testing.T) {
	one, other := gone(t), gone(t)
	c := newCalling(nil, one, other)
	for range 2 {
		_, err := c.call(t.Context(), changes, "", false)
		if err == nil || !strings.Contains(err.Error(), "push at "+one) || !strings.Contains(err.Error(), "push at "+other) {
			t.Errorf("got %v", err)
		}
	}
	back := newReplica(t, strings.TrimPrefix(other, "http://"))
	back.Start()
	defer back.Close()
	if _, err := c.call(t.Context(), changes, "", false); err != nil {
		t.Errorf("one is back: %v", err)
	}
}

// A caller that waits for less than a ping has given up on a server that stands still; those after it find another one.
func TestCallersThatGiveUp(t *testing.T) {
	second := started(t)
	c := newCalling(nil, silent(t, 1000), second.URL)
	await.True(t, "a call finds the second address", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, _ = c.call(ctx, changes, "", false)
		return second.calls.Load() > 0
	})
}

// Every address proves that it is the service: the name in its certificate is the service's.
func TestEveryAddressProvesItself(t *testing.T) {
	ca := pki.New(t)
	serve := func(name string) *replica {
		cert, err := tls.LoadX509KeyPair(ca.Issue(t, name, name+".millrace"))
		if err != nil {
			t.Fatal(err)
		}
		r := newReplica(t, "")
		r.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: ALPN, MinVersion: tls.VersionTLS13}
		r.StartTLS()
		t.Cleanup(r.Close)
		return r
	}
	another, push := serve("alpha"), serve("push")
	c := newCalling(&tls.Config{RootCAs: ca.Pool(), ServerName: "push.millrace", MinVersion: tls.VersionTLS13}, another.URL, push.URL)
	if _, err := c.call(t.Context(), changes, "", false); err != nil || another.calls.Load() != 0 || push.calls.Load() != 1 {
		t.Errorf("%d calls at another service, %d at push: %v", another.calls.Load(), push.calls.Load(), err)
	}
}

// What fails because of one call, or of its sender, is no failure of the address: other calls stay with it.
func TestACallAtFaultDoesNotMarkAnAddress(t *testing.T) {
	first, second := started(t), started(t)
	c := newCalling(nil, first.URL, second.URL)
	panics := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	first.does.Store(&panics)
	if _, err := c.call(t.Context(), changes, "", false); err == nil {
		t.Error("a call of which the handler panics has an answer")
	}
	first.does.Store(nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.base+reads, io.MultiReader(strings.NewReader("x"), failing{}))
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := c.Do(r); err == nil {
		answer.Body.Close()
		t.Error("half a request has an answer")
	}
	if _, err := c.call(t.Context(), changes, "", false); err != nil || second.calls.Load() != 0 {
		t.Errorf("%d calls at the second: %v", second.calls.Load(), err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
