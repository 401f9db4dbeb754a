package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/state"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

// tokenDefault is how long a token lasts whose request does not say.
const tokenDefault = 90 * 24 * time.Hour

// ListTokens implements IdentityService.
func (a *api) ListTokens(ctx context.Context, _ *connect.Request[identityv1.ListTokensRequest]) (*connect.Response[identityv1.ListTokensResponse], error) {
	who, err := a.me(ctx)
	if err != nil {
		return nil, err
	}
	records, err := listed[identityv1.TokenRecord](ctx, a.deps.State, tokensPrefix)
	if err != nil {
		return nil, away(err)
	}
	out := &identityv1.ListTokensResponse{}
	for _, t := range records {
		if t.GetUser() == who.Name || who.Role >= rights.Admin {
			out.Tokens = append(out.Tokens, shownToken(t))
		}
	}
	return connect.NewResponse(out), nil
}

func shownToken(t *identityv1.TokenRecord) *identityv1.Token {
	return &identityv1.Token{
		Id: t.GetId(), User: t.GetUser(), Name: t.GetName(), Role: t.GetRole(), Apis: t.GetApis(), CreatedAt: t.GetCreatedAt(),
		ExpiresAt: t.GetExpiresAt(), LastUsedAt: t.GetLastUsedAt(), Scope: t.GetScope(),
	}
}

// CreateToken implements IdentityService. A token gives nothing that its maker does not have.
func (a *api) CreateToken(ctx context.Context, r *connect.Request[identityv1.CreateTokenRequest]) (*connect.Response[identityv1.CreateTokenResponse], error) {
	who, err := a.inSession(ctx)
	if err != nil {
		return nil, err
	}
	record, err := a.tokenOf(who, r.Msg)
	if err != nil {
		return nil, err
	}
	s := newSecret(tokenKind)
	record.Id, record.Hash = s.id, s.hash()
	if _, err := a.deps.State.Put(ctx, tokenKey(s.id), 0, record); err != nil {
		return nil, conflict(err)
	}
	return connect.NewResponse(&identityv1.CreateTokenResponse{Token: shownToken(record), Secret: s.text()}), nil
}

func (a *api) tokenOf(who rights.Caller, q *identityv1.CreateTokenRequest) (*identityv1.TokenRecord, error) {
	now := a.deps.Now()
	role, expires, apis := q.GetRole(), now.Add(min(tokenDefault, a.cfg.Token)), q.GetApis()
	if role == 0 {
		role = who.Role
	}
	if q.GetExpiresAt() != nil {
		expires = q.GetExpiresAt().AsTime()
	}
	bad := func(format string, a ...any) error {
		return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, a...))
	}
	switch {
	case q.GetName() == "" || len([]rune(q.GetName())) > 100:
		return nil, bad("say in at most 100 characters what the token is for")
	case !slices.Contains(rights.Roles, role):
		return nil, bad("the role is viewer, operator, approver or admin")
	case role > who.Role:
		return nil, connect.NewError(connect.CodePermissionDenied, fmt.Errorf("%s is %s, and can make no token of the role %s", who.Name, rights.Name(who.Role), rights.Name(role)))
	case !expires.After(now) || expires.After(now.Add(a.cfg.Token)):
		return nil, bad("a token expires in the future, and within %s (identity.token)", a.cfg.Token)
	}
	for _, api := range apis {
		if !slices.Contains(knownAPIs(), api) {
			return nil, bad("there is no API %q; there are %v", api, knownAPIs())
		}
	}
	scope := rights.ScopeOf(q.GetScope())
	if err := scope.Check(); err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	return &identityv1.TokenRecord{
		User: who.Name, Name: q.GetName(), Role: role, Apis: apis, CreatedAt: timestamppb.New(now), ExpiresAt: timestamppb.New(expires),
		Scope: rights.ScopeMessage(scope),
	}, nil
}

// knownAPIs are those that have calls.
func knownAPIs() []string {
	var out []string
	for _, c := range rights.Calls() {
		out = append(out, c.API)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// RevokeToken implements IdentityService. A token may end itself, which needs nobody who logs in.
func (a *api) RevokeToken(ctx context.Context, r *connect.Request[identityv1.RevokeTokenRequest]) (*connect.Response[identityv1.RevokeTokenResponse], error) {
	who, err := a.me(ctx)
	if err != nil {
		return nil, err
	}
	if !who.Session && r.Msg.GetId() != who.Credential {
		return nil, errNoSession
	}
	none := connect.NewError(connect.CodeNotFound, errors.New("there is no such token"))
	if !rights.IsName(r.Msg.GetId()) {
		return nil, none
	}
	record := &identityv1.TokenRecord{}
	switch _, err := a.deps.State.Get(ctx, tokenKey(r.Msg.GetId()), record); {
	case errors.Is(err, state.ErrNotFound) || err == nil && record.GetUser() != who.Name && who.Role < rights.Admin:
		return nil, none
	case err != nil:
		return nil, away(err)
	}
	if err := a.deps.State.Apply(ctx, state.Op{Key: tokenKey(record.GetId())}); err != nil {
		return nil, away(err)
	}
	return connect.NewResponse(&identityv1.RevokeTokenResponse{}), nil
}
