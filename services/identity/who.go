package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/state"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

// Errors of credentials. They do not say which of the possible reasons it is to somebody who guesses.
var (
	errSession = connect.NewError(connect.CodeUnauthenticated, errors.New("the login is over or was ended; log in again"))
	errToken   = connect.NewError(connect.CodeUnauthenticated, errors.New("no such token, or it is expired or revoked; `millrace login` makes another"))
	errRate    = connect.NewError(connect.CodeResourceExhausted, errors.New("too many requests with this login; identity.rate is the bound"))
)

// Who is the caller of a request, by its token or its session cookie. The record is read for each request, so that what
// is revoked is refused from the next one on.
func (c *Component) Who(r *http.Request) (rights.Caller, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		return c.byToken(r.Context(), header)
	}
	if cookie, err := r.Cookie(c.cookieName()); err == nil {
		return c.bySession(r.Context(), cookie.Value)
	}
	return rights.Anonymous, nil
}

func (c *Component) byToken(ctx context.Context, header string) (rights.Caller, error) {
	text, ok := strings.CutPrefix(header, "Bearer ")
	shown, known := parseSecret(tokenKind, text)
	if !ok || !known {
		return rights.Caller{}, errToken
	}
	record := &identityv1.TokenRecord{}
	revision, err := c.deps.State.Get(ctx, tokenKey(shown.id), record)
	now := c.deps.Now()
	switch {
	case errors.Is(err, state.ErrNotFound) || err == nil && (!shown.matches(record.GetHash()) || !now.Before(record.GetExpiresAt().AsTime())):
		return rights.Caller{}, errToken
	case err != nil:
		return rights.Caller{}, away(err)
	}
	who, err := c.person(ctx, record.GetUser(), shown.id, now, errToken)
	if err != nil {
		return rights.Caller{}, err
	}
	if used := record.GetLastUsedAt().AsTime(); now.Sub(used) >= usedEvery {
		record.LastUsedAt = timestamppb.New(now)
		c.touch(ctx, tokenKey(shown.id), revision, record)
	}
	who.Role, who.APIs, who.Limits.Scope = min(who.Role, record.GetRole()), record.GetApis(), rights.ScopeOf(record.GetScope())
	return who, nil
}

func (c *Component) bySession(ctx context.Context, text string) (rights.Caller, error) {
	shown, known := parseSecret(sessionKind, text)
	if !known {
		return rights.Caller{}, errSession
	}
	record := &identityv1.SessionRecord{}
	revision, err := c.deps.State.Get(ctx, sessionKey(shown.id), record)
	now := c.deps.Now()
	switch {
	case errors.Is(err, state.ErrNotFound) || err == nil && (!shown.matches(record.GetHash()) || !now.Before(record.GetExpiresAt().AsTime())):
		return rights.Caller{}, errSession
	case err != nil:
		return rights.Caller{}, away(err)
	}
	who, err := c.person(ctx, record.GetUser(), shown.id, now, errSession)
	if err != nil {
		return rights.Caller{}, err
	}
	if used := record.GetLastUsedAt().AsTime(); now.Sub(used) >= usedEvery {
		record.LastUsedAt = timestamppb.New(now)
		c.touch(ctx, sessionKey(shown.id), revision, record)
	}
	who.Session = true
	return who, nil
}

// person is the caller behind a credential, with the role that the person has now.
func (c *Component) person(ctx context.Context, name, credential string, now time.Time, gone error) (rights.Caller, error) {
	user := &identityv1.UserRecord{}
	switch _, err := c.deps.State.Get(ctx, userKey(name), user); {
	case errors.Is(err, state.ErrNotFound):
		return rights.Caller{}, gone
	case err != nil:
		return rights.Caller{}, away(err)
	}
	if !c.vouched(user.GetProvider(), now) {
		return rights.Caller{}, errUnconfirmed
	}
	if !c.rates.take(credential, now) {
		return rights.Caller{}, errRate
	}
	limits := rights.Limits{Grants: rights.GrantsFrom(user.GetGrants())}
	return rights.Caller{Name: user.GetName(), Role: user.GetRole(), Credential: credential, Limits: limits}, nil
}

// usedEvery is how exact the last use is known.
const usedEvery = time.Minute

// touch records a use. Another request may have done so at once, or ended the credential: then this one does nothing.
func (c *Component) touch(ctx context.Context, key string, revision int64, record proto.Message) {
	if _, err := c.deps.State.Put(ctx, key, revision, record); err != nil && !errors.Is(err, state.ErrConflict) {
		c.deps.Log.Warn("the last use of a login is not recorded", "error", err)
	}
}

func away(err error) error {
	return connect.NewError(connect.CodeUnavailable, fmt.Errorf("who calls cannot be looked up: %w", err))
}
