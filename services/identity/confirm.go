package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/state"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/services/identity/oidc"
)

var (
	errUnconfirmed = connect.NewError(connect.CodeUnauthenticated,
		errors.New("the OpenID provider has not confirmed this login lately (identity.oidc.grace), or confirms it no longer; log in again"))
	errOfProvider = connect.NewError(connect.CodeFailedPrecondition,
		errors.New("the OpenID provider gives this person the role and the way to log in; change the groups there"))
)

const (
	// confirmEvery is how often it is looked who is to be confirmed.
	confirmEvery = 20 * time.Second
	// asking is how long a replica may take for one question.
	asking = time.Minute
	// entering is how often a login is recorded anew that another one of the same person came before.
	entering = 3
)

// vouched reports whether a person may go on: who is not the provider's, and whom it confirmed within the grace.
func (c *Component) vouched(p *identityv1.ProviderRecord, now time.Time) bool {
	if p == nil {
		return true
	}
	return c.provider != nil && p.GetIssuer() == c.cfg.OIDC.Issuer && p.GetConfirmedAt() != nil &&
		now.Before(p.GetConfirmedAt().AsTime().Add(c.cfg.OIDC.Grace))
}

// due reports whether the provider is to be asked for a person now, by this replica.
func (c *Component) due(p *identityv1.ProviderRecord, now time.Time) bool {
	return p.GetRefresh() != "" && p.GetConfirmedAt() != nil && p.GetIssuer() == c.cfg.OIDC.Issuer &&
		!now.Before(p.GetConfirmedAt().AsTime().Add(c.cfg.OIDC.Recheck)) && !now.Before(p.GetAskingUntil().AsTime())
}

// enter records whom the provider vouches for. Issuer and subject are who that is; the name is that of the first login.
func (a *api) enter(ctx context.Context, who oidc.Person) (*identityv1.UserRecord, error) {
	for range entering {
		user, index, guards, err := a.known(ctx, who)
		if err != nil {
			return nil, err
		}
		if err := a.endOver(ctx, user); err != nil {
			return nil, away(err)
		}
		index.User = user.GetName()
		setRole(user, a.cfg.OIDC.Grants(who.Groups))
		user.Provider = a.vouchedFor(who, user.GetProvider())
		none := user.GetRole() <= rights.Nobody
		if none && guards[0].Revision == 0 {
			return nil, errNoGroup(who.Name)
		}
		if none {
			user.Provider.ConfirmedAt, user.Provider.Refresh = nil, ""
		}
		subject := state.Op{Key: subjectKey(who.Issuer, who.Subject), Value: index}
		switch _, err := a.deps.State.Commit(ctx, guards, state.Op{Key: userKey(user.GetName()), Value: user}, subject); {
		case errors.Is(err, state.ErrConflict):
			continue
		case err != nil:
			return nil, away(err)
		case none:
			return nil, errors.Join(errNoGroup(user.GetName()), a.endSessions(ctx, user.GetName()))
		}
		return user, nil
	}
	return nil, conflict(state.ErrConflict)
}

// endOver ends the sessions of somebody whom the provider did not confirm within the grace, or confirmed no more:
// another login must not make them good again. Tokens stay, as they do for who comes back into a group.
func (c *Component) endOver(ctx context.Context, user *identityv1.UserRecord) error {
	if c.vouched(user.GetProvider(), c.deps.Now()) {
		return nil
	}
	return c.endSessions(ctx, user.GetName())
}

// vouchedFor is what is kept of a login, with what a newer process has added to that of before.
func (c *Component) vouchedFor(who oidc.Person, was *identityv1.ProviderRecord) *identityv1.ProviderRecord {
	return state.KeepUnknown(was, &identityv1.ProviderRecord{
		Issuer: who.Issuer, Subject: who.Subject, ConfirmedAt: timestamppb.New(c.deps.Now()), Refresh: c.provider.Seal(who.Refresh, who.Subject),
	})
}

func errNoGroup(name string) error {
	return connect.NewError(connect.CodePermissionDenied, fmt.Errorf("%s is in none of the groups that have a role here (identity.oidc.roles)", rights.LoggedName(name)))
}

// known is the record of a person and where the provider's name leads to it, or new ones, with what must be so when
// they are written: the user's key first.
func (a *api) known(ctx context.Context, who oidc.Person) (*identityv1.UserRecord, *identityv1.SubjectRecord, []state.Guard, error) {
	index, user := &identityv1.SubjectRecord{}, &identityv1.UserRecord{}
	at, err := a.deps.State.Get(ctx, subjectKey(who.Issuer, who.Subject), index)
	name := index.GetUser()
	switch {
	case errors.Is(err, state.ErrNotFound):
		if name, err = newName(who.Name); err != nil {
			return nil, nil, nil, err
		}
	case err != nil:
		return nil, nil, nil, away(err)
	}
	revision, err := a.deps.State.Get(ctx, userKey(name), user)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return nil, nil, nil, away(err)
	}
	guards := []state.Guard{{Key: userKey(name), Revision: revision}, {Key: subjectKey(who.Issuer, who.Subject), Revision: at}}
	if revision == 0 {
		user, err = a.newUser(ctx, name)
		return user, index, guards, err
	}
	if p := user.GetProvider(); p.GetIssuer() != who.Issuer || p.GetSubject() != who.Subject {
		return nil, nil, nil, connect.NewError(connect.CodePermissionDenied,
			fmt.Errorf("somebody else is called %s here; an admin can remove that person (`millrace users delete %s`), or the provider gives another name", name, name))
	}
	return user, index, guards, nil
}

// newName is a name that a person of the provider may have. The login link is for admin.
func newName(name string) (string, error) {
	if !rights.IsName(name) || name == firstAdmin {
		return "", connect.NewError(connect.CodePermissionDenied,
			fmt.Errorf("nobody of the OpenID provider can be called %s here; a name has 1 to 64 of A-Z a-z 0-9 . _ @ + -, and is not %s", rights.LoggedName(name), firstAdmin))
	}
	return name, nil
}

func (c *Component) endSessions(ctx context.Context, of string) error {
	return deleteWhere(ctx, c.deps.State, sessionsPrefix, func(s *identityv1.SessionRecord) bool { return s.GetUser() == of })
}

// confirm asks the provider for those who logged in by it, until it does not answer.
func (c *Component) confirm(ctx context.Context) {
	people, err := c.allDue(ctx)
	if err != nil {
		c.unconfirmed(ctx, err)
	}
	if len(people) == 0 {
		return
	}
	in, err := c.loggedIn(ctx)
	if err != nil {
		c.unconfirmed(ctx, err)
		return
	}
	for _, p := range people {
		question := c.ask
		if !in[p.user.GetName()] {
			question = c.forget
		}
		if err = question(ctx, p.key, p.revision, p.user); err != nil {
			c.unconfirmed(ctx, err)
		}
		var down *oidc.AwayError
		if errors.As(err, &down) {
			return
		}
	}
}

// dueUser is a person whom the provider is to be asked for.
type dueUser struct {
	key      string
	revision int64
	user     *identityv1.UserRecord
}

// allDue are those to ask for now. Those for whom no question is without an answer are first, and then who waits
// longest, so that a few whom the provider fails to answer for do not keep it from being asked for the others.
func (c *Component) allDue(ctx context.Context) ([]dueUser, error) {
	entries, err := c.deps.State.List(ctx, usersPrefix)
	if err != nil {
		return nil, err
	}
	var out []dueUser
	var errs []error
	for _, e := range entries {
		user := &identityv1.UserRecord{}
		if err := proto.Unmarshal(e.Value, user); err != nil {
			errs = append(errs, fmt.Errorf("decode %s: %w", e.Key, err))
		} else if c.due(user.GetProvider(), c.deps.Now()) {
			out = append(out, dueUser{e.Key, e.Revision, user})
		}
	}
	slices.SortStableFunc(out, func(a, b dueUser) int {
		return a.user.GetProvider().GetAskingUntil().AsTime().Compare(b.user.GetProvider().GetAskingUntil().AsTime())
	})
	return out, errors.Join(errs...)
}

// loggedIn are those who have a session or a token.
func (c *Component) loggedIn(ctx context.Context) (map[string]bool, error) {
	sessions, err := listed[identityv1.SessionRecord](ctx, c.deps.State, sessionsPrefix)
	if err != nil {
		return nil, err
	}
	tokens, err := listed[identityv1.TokenRecord](ctx, c.deps.State, tokensPrefix)
	if err != nil {
		return nil, err
	}
	in, now := map[string]bool{}, c.deps.Now()
	for _, s := range sessions {
		in[s.GetUser()] = in[s.GetUser()] || now.Before(s.GetExpiresAt().AsTime())
	}
	for _, t := range tokens {
		in[t.GetUser()] = in[t.GetUser()] || now.Before(t.GetExpiresAt().AsTime())
	}
	return in, nil
}

// forget deletes the refresh token of a person who has logged out: by questions that nobody needs, the provider would
// take the person for active for ever.
func (c *Component) forget(ctx context.Context, key string, revision int64, user *identityv1.UserRecord) error {
	user.Provider.Refresh = ""
	_, err := c.deps.State.Put(ctx, key, revision, user)
	if errors.Is(err, state.ErrConflict) {
		return nil // the person logs in
	}
	return err
}

func (c *Component) unconfirmed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		c.metrics.confirmed.WithLabelValues("failed").Inc()
		c.deps.Log.Warn("the OpenID provider does not confirm a login, which ends after identity.oidc.grace", "error", err)
	}
}

// ask confirms one person. A refresh token may be used up by the question, so a single replica asks.
func (c *Component) ask(ctx context.Context, key string, revision int64, user *identityv1.UserRecord) error {
	p := user.GetProvider()
	p.AskingUntil = timestamppb.New(c.deps.Now().Add(asking))
	revision, err := c.deps.State.Put(ctx, key, revision, user)
	if errors.Is(err, state.ErrConflict) {
		return nil // another replica asks, or the person logs in
	} else if err != nil {
		return err
	}
	who, err := oidc.Person{}, oidc.ErrEnded
	if refresh := c.provider.Unseal(p.GetRefresh(), p.GetSubject()); refresh != "" {
		who, err = c.provider.Refresh(ctx, p.GetSubject(), refresh)
	}
	result := "confirmed"
	switch {
	case errors.Is(err, oidc.ErrEnded):
		result, p.ConfirmedAt, p.Refresh = "ended", nil, ""
	case err != nil:
		return errors.Join(err, c.exchanged(ctx, key, revision, user, who.Refresh))
	default:
		user.Provider = c.vouchedFor(who, p)
		setRole(user, c.cfg.OIDC.Grants(who.Groups))
		if user.GetRole() <= rights.Nobody {
			result, user.Provider.ConfirmedAt, user.Provider.Refresh = "ended", nil, ""
		}
	}
	if _, err := c.deps.State.Put(context.WithoutCancel(ctx), key, revision, user); errors.Is(err, state.ErrConflict) {
		return nil // the person logged in meanwhile, or was removed
	} else if err != nil {
		return err
	}
	c.metrics.confirmed.WithLabelValues(result).Inc()
	if result != "ended" {
		return nil
	}
	c.deps.Log.Info("login ended by the OpenID provider", "name", user.GetName())
	return c.endSessions(ctx, user.GetName())
}

// exchanged keeps a refresh token that came for one that is used up, of a person whom the rest of the answer does not
// confirm.
func (c *Component) exchanged(ctx context.Context, key string, revision int64, user *identityv1.UserRecord, refresh string) error {
	if refresh == "" {
		return nil
	}
	user.Provider.Refresh = c.provider.Seal(refresh, user.GetProvider().GetSubject())
	_, err := c.deps.State.Put(context.WithoutCancel(ctx), key, revision, user)
	if errors.Is(err, state.ErrConflict) {
		return nil // the person logged in meanwhile, or was removed
	}
	return err
}
