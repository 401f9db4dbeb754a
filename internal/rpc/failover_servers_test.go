package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/ports"
)

// replica is a server of one address.
type replica struct {
	*httptest.Server
	calls atomic.Int64
	// does is what it does with a call beside answering its body.
	does atomic.Pointer[http.HandlerFunc]
}

// newReplica serves HTTP/2 at an address, or at any.
func newReplica(t *testing.T, address string) *replica {
	t.Helper()
	r := &replica{}
	r.Server = httptest.NewUnstartedServer(r)
	if address != "" {
		r.Listener.Close()
		var err error
		if r.Listener, err = net.Listen("tcp", address); err != nil {
			t.Fatal(err)
		}
	}
	r.Config.Protocols = Protocols()
	return r
}

func started(t *testing.T) *replica {
	r := newReplica(t, "")
	r.Start()
	t.Cleanup(r.Close)
	return r
}

func (r *replica) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if q.URL.Path == "/healthz" {
		return
	}
	r.calls.Add(1)
	body, err := io.ReadAll(q.Body)
	if do := r.does.Load(); do != nil {
		(*do)(w, q)
	}
	fmt.Fprintf(w, "%s at %s %v", body, q.URL.Path, err)
}

// dies has the replica lose its connections while it works on a call.
func (r *replica) dies() {
	die := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		r.CloseClientConnections()
		panic(http.ErrAbortHandler)
	})
	r.does.Store(&die)
}

// gone is an address at which nothing listens.
func gone(t *testing.T) string {
	t.Helper()
	return "http://" + ports.Loopback(t)
}

// silent is an address whose server accepts nothing: the kernel takes connections for it, until the queue is full.
func silent(t *testing.T, queue int) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, queue)); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port)
}

// cutOff is an address that does not answer a connection's first packet: its queue of connections is full.
func cutOff(t *testing.T) string {
	t.Helper()
	url := silent(t, 0)
	for {
		c, err := net.DialTimeout("tcp", strings.TrimPrefix(url, "http://"), 200*time.Millisecond)
		if err != nil {
			return url
		}
		t.Cleanup(func() { c.Close() })
	}
}

// calling is a client of several addresses, with the count of calls that went on from each.
type calling struct {
	*http.Client
	base string

	mu   sync.Mutex
	from map[string]int
}

// soon asks early whether a server is there. The answer may take as long as the product waits for it: on a busy host a
// server that is there is late, too.
var soon = waits{dial: patience.dial, ping: 100 * time.Millisecond, answer: patience.answer}

func newCalling(creds *tls.Config, addresses ...string) *calling {
	c := &calling{base: addresses[0], from: map[string]int{}}
	c.Client = newRemote(Remote{Service: "push", Addresses: addresses, TLS: creds, Log: slog.New(slog.DiscardHandler), FailedOver: func(address string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.from[address]++
	}}, soon)
	return c
}

func (c *calling) over(address string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from[address]
}

// call sends a body that its sender gives again, or an only one.
func (c *calling) call(ctx context.Context, procedure, text string, only bool) (string, error) {
	var body io.Reader = strings.NewReader(text)
	if only {
		body = struct{ io.Reader }{body}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+procedure, body)
	if err != nil {
		return "", err
	}
	r.ContentLength = int64(len(text))
	answer, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	return string(raw), err
}
