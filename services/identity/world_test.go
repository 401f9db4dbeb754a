package identity

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/etcd"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
)

func TestMain(m *testing.M) { os.Exit(etcd.Main(m)) }

// world is the service behind its gate on a listening port, with a clock that tests move.
type world struct {
	*Component
	url string

	mu    sync.Mutex
	clock time.Time
}

func start(t *testing.T, change func(*Configuration, *Dependencies)) *world {
	t.Helper()
	w := &world{clock: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
	cfg := DefaultConfiguration()
	cfg.Mode = ModeOn
	deps := Dependencies{State: etcd.Shared(t), Log: slog.New(slog.DiscardHandler), Now: w.now}
	if change != nil {
		change(&cfg, &deps)
	}
	c, err := New(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	c.cost = argonCost{passes: 1, memory: 64, threads: 1}
	w.Component = c
	path, handler := c.Handler()
	mux := http.NewServeMux()
	mux.Handle(path, rpc.Gate{Who: c.Who}.Wrap(nil, handler))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

func (w *world) now() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.clock }

func (w *world) set(now time.Time) { w.mu.Lock(); defer w.mu.Unlock(); w.clock = now }

func (w *world) wait(d time.Duration) { w.mu.Lock(); defer w.mu.Unlock(); w.clock = w.clock.Add(d) }

// caller shows a header with each request.
type caller struct{ name, value string }

func (c caller) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if c.name != "" {
		r.Header.Set(c.name, c.value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (w *world) as(c caller) identityv1connect.IdentityServiceClient {
	return identityv1connect.NewIdentityServiceClient(&http.Client{Transport: c}, w.url)
}

func (w *world) anonymous() identityv1connect.IdentityServiceClient { return w.as(caller{}) }

func bearer(token string) caller { return caller{"Authorization", "Bearer " + token} }

func cookie(h http.Header) caller {
	value, _, _ := strings.Cut(h.Get("Set-Cookie"), ";")
	return caller{"Cookie", value}
}

// admin logs in by a link.
func (w *world) admin(t *testing.T) caller {
	t.Helper()
	code, err := w.LoginLink(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.anonymous().Redeem(t.Context(), connect.NewRequest(&identityv1.RedeemRequest{Code: code}))
	if err != nil {
		t.Fatal(err)
	}
	return cookie(r.Header())
}

const password = "correct horse battery"

// add adds a person with a password.
func (w *world) add(t *testing.T, name string, role rights.Role) {
	t.Helper()
	admin := w.as(w.admin(t))
	if _, err := admin.PutUser(t.Context(), connect.NewRequest(&identityv1.PutUserRequest{Name: name, Role: role})); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.SetPassword(t.Context(), connect.NewRequest(&identityv1.SetPasswordRequest{Name: name, New: password})); err != nil {
		t.Fatal(err)
	}
}

func (w *world) login(name, password string) (caller, error) {
	r, err := w.anonymous().Login(context.Background(), connect.NewRequest(&identityv1.LoginRequest{Name: name, Password: password}))
	if err != nil {
		return caller{}, err
	}
	return cookie(r.Header()), nil
}

// in logs a person in who can.
func (w *world) in(t *testing.T, name string) caller {
	t.Helper()
	c, err := w.login(name, password)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (w *world) token(t *testing.T, of caller, q *identityv1.CreateTokenRequest) (secret, id string) {
	t.Helper()
	r, err := w.as(of).CreateToken(t.Context(), connect.NewRequest(q))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg.GetSecret(), r.Msg.GetToken().GetId()
}

// reads is what a call that needs a login answers.
func (w *world) reads(c caller) connect.Code {
	_, err := w.as(c).ListSessions(context.Background(), connect.NewRequest(&identityv1.ListSessionsRequest{}))
	return codeIn(err)
}

func codeIn(err error) connect.Code {
	if err == nil {
		return 0
	}
	return connect.CodeOf(err)
}

// changed is a text with another letter in its middle. A constant in its place would be, once in a while, the one that
// was there before.
func changed(text string) string {
	b := []byte(text)
	if i := len(b) / 2; b[i] != 'A' {
		b[i] = 'A'
	} else {
		b[i] = 'B'
	}
	return string(b)
}
