package identity

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/state"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
)

// api is IdentityService.
type api struct{ *Component }

var _ identityv1connect.IdentityServiceHandler = (*api)(nil)

var (
	errOff = connect.NewError(connect.CodeFailedPrecondition, errors.New("there are no logins here: identity.mode is off"))
	errBad = connect.NewError(connect.CodeInvalidArgument, errors.New("a name has 1 to 64 of A-Z a-z 0-9 . _ @ + -, and begins with a letter or a digit"))
)

// me is who makes a call that needs a login.
func (a *api) me(ctx context.Context) (rights.Caller, error) {
	who, ok := rights.From(ctx)
	if !a.On() || !ok {
		return who, errOff
	}
	return who, nil
}

var errNoSession = connect.NewError(connect.CodePermissionDenied, errors.New("a token may not do this; log in by a password or a link"))

// inSession is me, for what makes or ends logins: a token must not make what outlives it.
func (a *api) inSession(ctx context.Context) (rights.Caller, error) {
	who, err := a.me(ctx)
	if err == nil && !who.Session {
		err = errNoSession
	}
	return who, err
}

// WhoAmI answers everybody.
func (a *api) WhoAmI(ctx context.Context, _ *connect.Request[identityv1.WhoAmIRequest]) (*connect.Response[identityv1.WhoAmIResponse], error) {
	out := &identityv1.WhoAmIResponse{LoginNeeded: a.On()}
	if a.provider != nil {
		out.Provider = a.cfg.OIDC.Title
	}
	if who, ok := rights.From(ctx); ok && a.On() && who.Role > rights.Nobody {
		out.Name, out.Role, out.Limits = who.Name, who.Role, rights.LimitsMessage(who.Limits)
		user := &identityv1.UserRecord{}
		if _, err := a.user(ctx, who.Name, user); err == nil { // and else a service, which has no way to log in
			out.ByProvider = user.GetProvider() != nil
		}
	}
	return connect.NewResponse(out), nil
}

// Logout ends sessions, and takes the cookie from the browser.
func (a *api) Logout(ctx context.Context, r *connect.Request[identityv1.LogoutRequest]) (*connect.Response[identityv1.LogoutResponse], error) {
	who, err := a.me(ctx)
	if err != nil {
		return nil, err
	}
	if r.Msg.GetEverywhere() && !who.Session {
		return nil, errNoSession
	}
	ended, err := a.logOut(ctx, who, r.Msg.GetEverywhere())
	if err != nil {
		return nil, away(err)
	}
	out := connect.NewResponse(&identityv1.LogoutResponse{Ended: int32(ended)})
	gone := a.cookie("", time.Unix(1, 0))
	gone.MaxAge = -1
	out.Header().Add("Set-Cookie", gone.String())
	return out, nil
}

// logOut ends the caller's own session, or all of the person's, and the links that these have made. Who holds one
// may make a link until it has ended, and log in by a link until that has: so sessions, links, and sessions once more.
func (c *Component) logOut(ctx context.Context, who rights.Caller, everywhere bool) (ended int, err error) {
	ended, err = deleteCounting(ctx, c.deps.State, sessionsPrefix, func(s *identityv1.SessionRecord) bool {
		return s.GetUser() == who.Name && (everywhere || s.GetId() == who.Credential)
	})
	if err != nil || !everywhere {
		return ended, err
	}
	if err := c.endLinks(ctx, who.Name); err != nil {
		return ended, err
	}
	return ended, deleteWhere(ctx, c.deps.State, sessionsPrefix, func(s *identityv1.SessionRecord) bool { return s.GetUser() == who.Name })
}

// ListSessions implements IdentityService.
func (a *api) ListSessions(ctx context.Context, _ *connect.Request[identityv1.ListSessionsRequest]) (*connect.Response[identityv1.ListSessionsResponse], error) {
	who, err := a.me(ctx)
	if err != nil {
		return nil, err
	}
	records, err := listed[identityv1.SessionRecord](ctx, a.deps.State, sessionsPrefix)
	if err != nil {
		return nil, away(err)
	}
	out := &identityv1.ListSessionsResponse{}
	for _, s := range records {
		if s.GetUser() == who.Name || who.Role >= rights.Admin {
			out.Sessions = append(out.Sessions, &identityv1.Session{
				Id: s.GetId(), User: s.GetUser(), CreatedAt: s.GetCreatedAt(), ExpiresAt: s.GetExpiresAt(), LastUsedAt: s.GetLastUsedAt(),
				From: s.GetFrom(), Agent: s.GetAgent(), This: s.GetId() == who.Credential,
			})
		}
	}
	return connect.NewResponse(out), nil
}

// SetPassword implements IdentityService.
func (a *api) SetPassword(ctx context.Context, r *connect.Request[identityv1.SetPasswordRequest]) (*connect.Response[identityv1.SetPasswordResponse], error) {
	who, err := a.inSession(ctx)
	if err != nil {
		return nil, err
	}
	of := r.Msg.GetName()
	if of == "" {
		of = who.Name
	}
	if of != who.Name && who.Role < rights.Admin {
		return nil, connect.NewError(connect.CodePermissionDenied, errors.New("only an admin sets the password of somebody else"))
	}
	if err := checkPassword(r.Msg.GetNew()); err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	user := &identityv1.UserRecord{}
	revision, err := a.user(ctx, of, user)
	if err != nil {
		return nil, err
	}
	if user.GetProvider() != nil {
		return nil, errOfProvider
	}
	if of == who.Name && user.GetPassword() != "" {
		if err := a.checkOld(ctx, user, r.Msg.GetOld(), host(r.Peer().Addr)); err != nil {
			return nil, err
		}
	}
	if user.Password, err = a.hashPassword(ctx, r.Msg.GetNew()); err != nil {
		return nil, err
	}
	if _, err := a.deps.State.Put(ctx, userKey(of), revision, user); err != nil {
		return nil, conflict(err)
	}
	ended := deleteWhere(ctx, a.deps.State, sessionsPrefix, func(s *identityv1.SessionRecord) bool { return s.GetUser() == of && s.GetId() != who.Credential })
	if err := errors.Join(ended, a.endLinks(ctx, of)); err != nil {
		return nil, away(err)
	}
	return connect.NewResponse(&identityv1.SetPasswordResponse{}), nil
}

// checkOld delays guesses as a login does: who found an open page must not find the password by it.
func (a *api) checkOld(ctx context.Context, user *identityv1.UserRecord, old, address string) error {
	d, try := a.attempts.begin(user.GetName(), address, a.deps.Now())
	if d > 0 {
		return delayed(d)
	}
	good, err := a.passwordIs(ctx, user.GetPassword(), old)
	if err != nil {
		a.attempts.withdraw(try)
		return err
	}
	if !good {
		return connect.NewError(connect.CodePermissionDenied, errors.New("the present password is another one"))
	}
	a.attempts.success(try)
	return nil
}

// user reads a person's record.
func (a *api) user(ctx context.Context, of string, into *identityv1.UserRecord) (int64, error) {
	if !rights.IsName(of) {
		return 0, errBad
	}
	revision, err := a.deps.State.Get(ctx, userKey(of), into)
	switch {
	case errors.Is(err, state.ErrNotFound):
		return 0, connect.NewError(connect.CodeNotFound, errors.New("nobody is called "+of))
	case err != nil:
		return 0, away(err)
	}
	return revision, nil
}

func conflict(err error) error {
	if errors.Is(err, state.ErrConflict) {
		return connect.NewError(connect.CodeAborted, errors.New("somebody else changed it at the same moment; try again"))
	}
	return away(err)
}

func shownUser(u *identityv1.UserRecord) *identityv1.User {
	return &identityv1.User{
		Name: u.GetName(), Role: u.GetRole(), CreatedAt: u.GetCreatedAt(), HasPassword: u.GetPassword() != "",
		Issuer: u.GetProvider().GetIssuer(), ConfirmedAt: u.GetProvider().GetConfirmedAt(), Grants: u.GetGrants(),
	}
}

// now is a time for records.
func (a *api) now() *timestamppb.Timestamp { return timestamppb.New(a.deps.Now()) }
