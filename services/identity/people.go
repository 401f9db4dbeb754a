package identity

import (
	"context"
	"errors"
	"slices"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/state"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

// ListUsers implements IdentityService.
func (a *api) ListUsers(ctx context.Context, _ *connect.Request[identityv1.ListUsersRequest]) (*connect.Response[identityv1.ListUsersResponse], error) {
	if _, err := a.me(ctx); err != nil {
		return nil, err
	}
	records, err := listed[identityv1.UserRecord](ctx, a.deps.State, usersPrefix)
	if err != nil {
		return nil, away(err)
	}
	out := &identityv1.ListUsersResponse{}
	for _, u := range records {
		out.Users = append(out.Users, shownUser(u))
	}
	return connect.NewResponse(out), nil
}

var errLastAdmin = connect.NewError(connect.CodeFailedPrecondition, errors.New("nobody else is admin; give somebody that role first"))

// PutUser implements IdentityService.
func (a *api) PutUser(ctx context.Context, r *connect.Request[identityv1.PutUserRequest]) (*connect.Response[identityv1.PutUserResponse], error) {
	if _, err := a.me(ctx); err != nil {
		return nil, err
	}
	of := r.Msg.GetName()
	if !nameIsGood(of) {
		return nil, errBad
	}
	if !slices.Contains(rights.Roles, r.Msg.GetRole()) {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("the role is viewer, operator, approver or admin"))
	}
	if r.Msg.GetRole() != rights.Admin {
		if err := a.othersAreAdmin(ctx, of); err != nil {
			return nil, err
		}
	}
	user := &identityv1.UserRecord{}
	revision, err := a.deps.State.Get(ctx, userKey(of), user)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return nil, away(err)
	}
	if revision == 0 {
		user = &identityv1.UserRecord{Name: of, CreatedAt: a.now()}
	}
	user.Role = r.Msg.GetRole()
	if _, err := a.deps.State.Put(ctx, userKey(of), revision, user); err != nil {
		return nil, conflict(err)
	}
	return connect.NewResponse(&identityv1.PutUserResponse{User: shownUser(user)}), nil
}

// DeleteUser removes the person first: from then on no session and no token of that person is taken.
func (a *api) DeleteUser(ctx context.Context, r *connect.Request[identityv1.DeleteUserRequest]) (*connect.Response[identityv1.DeleteUserResponse], error) {
	if _, err := a.me(ctx); err != nil {
		return nil, err
	}
	of := r.Msg.GetName()
	if _, err := a.user(ctx, of, &identityv1.UserRecord{}); err != nil {
		return nil, err
	}
	if err := a.othersAreAdmin(ctx, of); err != nil {
		return nil, err
	}
	if err := a.deps.State.Apply(ctx, state.Op{Key: userKey(of)}); err != nil {
		return nil, away(err)
	}
	if err := errors.Join(
		deleteWhere(ctx, a.deps.State, sessionsPrefix, func(s *identityv1.SessionRecord) bool { return s.GetUser() == of }),
		deleteWhere(ctx, a.deps.State, tokensPrefix, func(t *identityv1.TokenRecord) bool { return t.GetUser() == of }),
	); err != nil {
		return nil, away(err)
	}
	return connect.NewResponse(&identityv1.DeleteUserResponse{}), nil
}

// othersAreAdmin refuses to leave nobody who can give roles.
func (a *api) othersAreAdmin(ctx context.Context, but string) error {
	records, err := listed[identityv1.UserRecord](ctx, a.deps.State, usersPrefix)
	if err != nil {
		return away(err)
	}
	if !slices.ContainsFunc(records, func(u *identityv1.UserRecord) bool { return u.GetName() != but && u.GetRole() == rights.Admin }) {
		return errLastAdmin
	}
	return nil
}
