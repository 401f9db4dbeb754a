package identity

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rights"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

// firstAdmin is who logs in by a link.
const firstAdmin = "admin"

// LoginLink makes a link by which the person admin logs in, once. first makes it only where nobody is known yet; the
// code is then empty if somebody is.
func (c *Component) LoginLink(ctx context.Context, first bool) (code string, err error) {
	if first {
		users, err := c.deps.State.Keys(ctx, usersPrefix)
		if err != nil || len(users) > 0 {
			return "", err
		}
	}
	if code, _, err = c.link(ctx, firstAdmin, rights.Admin); err != nil {
		return "", fmt.Errorf("record the login link: %w", err)
	}
	return code, nil
}

// link records a link of a person, who gets the role; 0: the person's own stays.
func (c *Component) link(ctx context.Context, of string, role rights.Role) (code string, expires time.Time, err error) {
	s := newSecret(linkKind)
	expires = c.deps.Now().Add(c.cfg.Link)
	record := &identityv1.LinkRecord{Id: s.id, Hash: s.hash(), User: of, Role: role, ExpiresAt: timestamppb.New(expires)}
	_, err = c.deps.State.Put(ctx, linkKey(s.id), 0, record)
	return s.text(), expires, err
}

// Lifetime is how long a login link can be used.
func (c *Component) Lifetime() time.Duration { return c.cfg.Link }

// CreateLink implements IdentityService.
func (a *api) CreateLink(ctx context.Context, _ *connect.Request[identityv1.CreateLinkRequest]) (*connect.Response[identityv1.CreateLinkResponse], error) {
	who, err := a.inSession(ctx)
	if err != nil {
		return nil, err
	}
	user := &identityv1.UserRecord{}
	if _, err := a.user(ctx, who.Name, user); err != nil {
		return nil, err
	}
	if user.GetProvider() != nil {
		return nil, errOfProvider // whose sessions are the provider's to end
	}
	code, expires, err := a.link(ctx, who.Name, 0)
	if err != nil {
		return nil, away(err)
	}
	return connect.NewResponse(&identityv1.CreateLinkResponse{Code: code, ExpiresAt: timestamppb.New(expires)}), nil
}

// endLinks deletes the links that a person has made: who found a session must not have another way in. Those that a
// start printed stay.
func (c *Component) endLinks(ctx context.Context, of string) error {
	return deleteWhere(ctx, c.deps.State, linksPrefix, func(l *identityv1.LinkRecord) bool { return l.GetUser() == of && l.GetRole() == 0 })
}
