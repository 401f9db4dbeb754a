package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

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

var errLastAdmin = connect.NewError(connect.CodeFailedPrecondition, errors.New("nobody else is a local admin; give somebody that role first"))

// PutUser implements IdentityService.
func (a *api) PutUser(ctx context.Context, r *connect.Request[identityv1.PutUserRequest]) (*connect.Response[identityv1.PutUserResponse], error) {
	if _, err := a.me(ctx); err != nil {
		return nil, err
	}
	of := r.Msg.GetName()
	if !rights.IsName(of) {
		return nil, errBad
	}
	if !slices.Contains(rights.Roles, r.Msg.GetRole()) {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("the role is viewer, operator, approver or admin"))
	}
	grant := rights.Grant{Role: r.Msg.GetRole(), Scope: rights.ScopeOf(r.Msg.GetScope())}
	if err := rights.CheckGrant(grant); err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	guards, err := a.otherAdmin(ctx, of)
	if err != nil {
		return nil, err
	}
	user := &identityv1.UserRecord{}
	revision, err := a.deps.State.Get(ctx, userKey(of), user)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return nil, away(err)
	}
	if user.GetProvider() != nil {
		return nil, errOfProvider
	}
	if len(guards) == 0 && isLocalAdmin(user) && r.Msg.GetRole() != rights.Admin {
		return nil, errLastAdmin
	}
	if revision == 0 {
		if user, err = a.newUser(ctx, of); err != nil {
			return nil, err
		}
	}
	setRole(user, []rights.Grant{grant})
	guards = append(guards, state.Guard{Key: userKey(of), Revision: revision})
	if _, err := a.deps.State.Commit(ctx, guards, state.Op{Key: userKey(of), Value: user}); err != nil {
		return nil, conflict(err)
	}
	return connect.NewResponse(&identityv1.PutUserResponse{User: shownUser(user)}), nil
}

// newUser is the record of somebody whom it is to add. It ends the logins of a namesake first, which may have been made
// in the moment in which that one was removed.
func (a *api) newUser(ctx context.Context, name string) (*identityv1.UserRecord, error) {
	if err := a.endLogins(ctx, name); err != nil {
		return nil, away(err)
	}
	return &identityv1.UserRecord{Name: name, CreatedAt: a.now()}, nil
}

// setRole gives a person these roles, each for its scope. What a newer process has added to a role stays while it does.
func setRole(user *identityv1.UserRecord, all []rights.Grant) {
	role, grants := rights.GrantsOf(all)
	was := &identityv1.UserRecord{Grants: user.GetGrants()}
	user.Role, user.Grants = role, state.KeepUnknown(was, &identityv1.UserRecord{Grants: rights.GrantMessages(grants)}).GetGrants()
}

// DeleteUser removes the person first: from then on no session and no token of that person is taken. A removal that
// could not delete these then is made again: of somebody who is gone it deletes them, too.
func (a *api) DeleteUser(ctx context.Context, r *connect.Request[identityv1.DeleteUserRequest]) (*connect.Response[identityv1.DeleteUserResponse], error) {
	if _, err := a.me(ctx); err != nil {
		return nil, err
	}
	of := r.Msg.GetName()
	guards, err := a.otherAdmin(ctx, of)
	if err != nil {
		return nil, err
	}
	user := &identityv1.UserRecord{}
	revision, err := a.user(ctx, of, user)
	if connect.CodeOf(err) == connect.CodeNotFound {
		if failed := a.endLogins(ctx, of); failed != nil {
			return nil, away(failed)
		}
	}
	if err != nil {
		return nil, err
	}
	if len(guards) == 0 && isLocalAdmin(user) {
		return nil, errLastAdmin
	}
	guards, ops := append(guards, state.Guard{Key: userKey(of), Revision: revision}), []state.Op{{Key: userKey(of)}}
	if p := user.GetProvider(); p != nil {
		ops = append(ops, state.Op{Key: subjectKey(p.GetIssuer(), p.GetSubject())})
	}
	if _, err := a.deps.State.Commit(ctx, guards, ops...); err != nil {
		return nil, conflict(err)
	}
	if err := a.endLogins(ctx, of); err != nil {
		return nil, away(err)
	}
	return connect.NewResponse(&identityv1.DeleteUserResponse{}), nil
}

// isLocalAdmin: an admin of the provider does not count, since that may be down.
func isLocalAdmin(u *identityv1.UserRecord) bool {
	return u.GetRole() == rights.Admin && u.GetProvider() == nil
}

// otherAdmin holds while somebody else is a local admin, and is empty where nobody is: when the last one goes, nobody
// could give roles. It is a guard of what is written, so that two admins who remove each other at once do not both
// succeed.
func (a *api) otherAdmin(ctx context.Context, but string) ([]state.Guard, error) {
	entries, err := a.deps.State.List(ctx, usersPrefix)
	if err != nil {
		return nil, away(err)
	}
	for _, e := range entries {
		u := &identityv1.UserRecord{}
		if err := proto.Unmarshal(e.Value, u); err != nil {
			return nil, away(fmt.Errorf("decode %s: %w", e.Key, err))
		}
		if u.GetName() != but && isLocalAdmin(u) {
			return []state.Guard{{Key: e.Key, Revision: e.Revision}}, nil
		}
	}
	return nil, nil
}
