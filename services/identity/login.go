package identity

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/state"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

var (
	errLogin = connect.NewError(connect.CodeUnauthenticated, errors.New("no such name, or another password"))
	errLink  = connect.NewError(connect.CodeUnauthenticated, errors.New("the login link was used, or is expired; `millrace up --login-link` prints another"))
)

func delayed(d time.Duration) error {
	return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("too many attempts failed; try again in %s", (d+time.Second).Truncate(time.Second)))
}

// Login begins a session by a password.
func (a *api) Login(ctx context.Context, r *connect.Request[identityv1.LoginRequest]) (*connect.Response[identityv1.LoginResponse], error) {
	if !a.On() {
		return nil, errOff
	}
	name, address, now := r.Msg.GetName(), host(r.Peer().Addr), a.deps.Now()
	d, try := a.attempts.begin(name, address, now)
	if d > 0 {
		a.metrics.logins.WithLabelValues("password", "delayed").Inc()
		return nil, delayed(d)
	}
	user := &identityv1.UserRecord{}
	if rights.IsName(name) {
		if _, err := a.deps.State.Get(ctx, userKey(name), user); err != nil && !errors.Is(err, state.ErrNotFound) {
			a.attempts.withdraw(try)
			a.metrics.logins.WithLabelValues("password", "failed").Inc()
			return nil, away(err)
		}
	}
	good, err := a.passwordIs(ctx, user.GetPassword(), r.Msg.GetPassword())
	if err != nil {
		a.attempts.withdraw(try)
		a.metrics.logins.WithLabelValues("password", "failed").Inc()
		return nil, err
	}
	if !good {
		a.metrics.logins.WithLabelValues("password", "refused").Inc()
		a.deps.Log.Warn("login refused", "name", rights.LoggedName(name), "from", address)
		return nil, errLogin
	}
	a.attempts.success(try)
	cookie, err := a.begin(ctx, user, r.Peer(), r.Header(), "")
	if err != nil {
		return nil, err
	}
	a.metrics.logins.WithLabelValues("password", "done").Inc()
	a.deps.Log.Info("login", "name", user.GetName(), "from", address, "method", "password")
	out := connect.NewResponse(&identityv1.LoginResponse{Name: user.GetName(), Role: user.GetRole()})
	out.Header().Add("Set-Cookie", cookie.String())
	return out, nil
}

// Redeem begins a session by a link, whose code nobody can guess. The link is deleted in one transaction with the
// first use of it, so that a second one finds nothing.
func (a *api) Redeem(ctx context.Context, r *connect.Request[identityv1.RedeemRequest]) (*connect.Response[identityv1.RedeemResponse], error) {
	if !a.On() {
		return nil, errOff
	}
	address, now := host(r.Peer().Addr), a.deps.Now()
	user, err := a.redeem(ctx, r.Msg.GetCode(), now)
	if err != nil {
		if connect.CodeOf(err) == connect.CodeUnauthenticated {
			a.deps.Log.Warn("login refused", "from", address, "method", "link")
		}
		a.metrics.logins.WithLabelValues("link", "refused").Inc()
		return nil, err
	}
	cookie, err := a.begin(ctx, user, r.Peer(), r.Header(), "")
	if err != nil {
		return nil, err
	}
	a.metrics.logins.WithLabelValues("link", "done").Inc()
	a.deps.Log.Info("login", "name", user.GetName(), "from", address, "method", "link")
	out := connect.NewResponse(&identityv1.RedeemResponse{Name: user.GetName(), Role: user.GetRole()})
	out.Header().Add("Set-Cookie", cookie.String())
	return out, nil
}

// redeem uses a link up, and adds the person of it who is not there yet.
func (a *api) redeem(ctx context.Context, code string, now time.Time) (*identityv1.UserRecord, error) {
	shown, ok := parseSecret(linkKind, code)
	if !ok {
		return nil, errLink
	}
	link := &identityv1.LinkRecord{}
	revision, err := a.deps.State.Get(ctx, linkKey(shown.id), link)
	switch {
	case errors.Is(err, state.ErrNotFound) || err == nil && (!shown.matches(link.GetHash()) || !now.Before(link.GetExpiresAt().AsTime())):
		return nil, errLink
	case err != nil:
		return nil, away(err)
	}
	user := &identityv1.UserRecord{}
	at, err := a.deps.State.Get(ctx, userKey(link.GetUser()), user)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return nil, away(err)
	}
	switch {
	case link.GetRole() == 0 && at == 0:
		return nil, errLink // the person was removed
	case at == 0:
		if user, err = a.newUser(ctx, link.GetUser()); err != nil {
			return nil, err
		}
	}
	if link.GetRole() != 0 {
		setRole(user, []rights.Grant{{Role: link.GetRole()}}) // also of a person who lost it: who can print a link has the host
	}
	guards := []state.Guard{{Key: linkKey(shown.id), Revision: revision}, {Key: userKey(link.GetUser()), Revision: at}}
	switch _, err := a.deps.State.Commit(ctx, guards, state.Op{Key: linkKey(shown.id)}, state.Op{Key: userKey(user.GetName()), Value: user}); {
	case errors.Is(err, state.ErrConflict):
		return nil, errLink
	case err != nil:
		return nil, away(err)
	}
	return user, nil
}

// begin records a session, with the one of the provider that it is of, and returns the cookie that shows it.
func (a *api) begin(ctx context.Context, user *identityv1.UserRecord, peer connect.Peer, header http.Header, of string) (*http.Cookie, error) {
	s, now := newSecret(sessionKind), a.deps.Now()
	expires := now.Add(a.cfg.Session)
	record := &identityv1.SessionRecord{
		Id: s.id, Hash: s.hash(), User: user.GetName(), CreatedAt: timestamppb.New(now), LastUsedAt: timestamppb.New(now),
		ExpiresAt: timestamppb.New(expires), From: host(peer.Addr), Agent: clipped(header.Get("User-Agent")),
		ProviderSession: of,
	}
	if _, err := a.deps.State.Put(ctx, sessionKey(s.id), 0, record); err != nil {
		return nil, away(err)
	}
	return a.cookie(s.text(), expires), nil
}

// cookie is for this host only, unseen by scripts, and not sent with requests that begin on other sites.
func (c *Component) cookie(value string, expires time.Time) *http.Cookie {
	return &http.Cookie{
		Name: c.cookieName(), Value: value, Path: "/", Expires: expires, Secure: c.cfg.secure(), HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

// cookieName with __Host- makes browsers refuse the cookie from a neighbouring name, and over plain HTTP.
func (c *Component) cookieName() string {
	if c.cfg.secure() {
		return "__Host-millrace"
	}
	return "millrace"
}

func host(address string) string {
	if h, _, err := net.SplitHostPort(address); err == nil {
		return h
	}
	return address
}

// clipped keeps what a client says of itself short.
func clipped(s string) string {
	runes := []rune(s)
	return string(runes[:min(len(runes), 200)])
}
