package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/state"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

const (
	usersPrefix    = "identity/users/"
	sessionsPrefix = "identity/sessions/"
	tokensPrefix   = "identity/tokens/"
	linksPrefix    = "identity/links/"
	subjectsPrefix = "identity/subjects/"
	flowsPrefix    = "identity/flows/"
)

func userKey(name string) string  { return usersPrefix + name }
func sessionKey(id string) string { return sessionsPrefix + id }
func tokenKey(id string) string   { return tokensPrefix + id }
func linkKey(id string) string    { return linksPrefix + id }
func flowKey(id string) string    { return flowsPrefix + id }

// subjectKey is of a person of a provider, whatever is in its names.
func subjectKey(issuer, subject string) string {
	sum := sha256.Sum256([]byte(strconv.Quote(issuer) + strconv.Quote(subject)))
	return subjectsPrefix + hex.EncodeToString(sum[:])
}

// record is a message of record.proto.
type record[T any] interface {
	*T
	proto.Message
}

// listed reads all records below a prefix.
func listed[T any, P record[T]](ctx context.Context, s *state.Store, prefix string) ([]P, error) {
	entries, err := s.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	var out []P
	for _, e := range entries {
		m := P(new(T))
		if err := proto.Unmarshal(e.Value, m); err != nil {
			return nil, fmt.Errorf("decode %s: %w", e.Key, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// clean deletes what has expired.
func (c *Component) clean(ctx context.Context) {
	now := c.deps.Now()
	var errs []error
	errs = append(errs,
		deleteWhere(ctx, c.deps.State, sessionsPrefix, func(r *identityv1.SessionRecord) bool { return now.After(r.GetExpiresAt().AsTime()) }),
		deleteWhere(ctx, c.deps.State, tokensPrefix, func(r *identityv1.TokenRecord) bool { return now.After(r.GetExpiresAt().AsTime()) }),
		deleteWhere(ctx, c.deps.State, linksPrefix, func(r *identityv1.LinkRecord) bool { return now.After(r.GetExpiresAt().AsTime()) }),
		deleteWhere(ctx, c.deps.State, flowsPrefix, func(r *identityv1.FlowRecord) bool { return now.After(r.GetExpiresAt().AsTime()) }))
	if err := errors.Join(errs...); err != nil && ctx.Err() == nil {
		c.deps.Log.Warn("expired logins are not deleted; they are refused all the same", "error", err)
	}
}

// endLogins deletes a person's sessions, tokens and links.
func (c *Component) endLogins(ctx context.Context, of string) error {
	return errors.Join(
		c.endLinks(ctx, of),
		deleteWhere(ctx, c.deps.State, sessionsPrefix, func(s *identityv1.SessionRecord) bool { return s.GetUser() == of }),
		deleteWhere(ctx, c.deps.State, tokensPrefix, func(t *identityv1.TokenRecord) bool { return t.GetUser() == of }),
	)
}

// deleteWhere deletes the records below a prefix that are chosen.
func deleteWhere[T any, P record[T]](ctx context.Context, s *state.Store, prefix string, chosen func(P) bool) error {
	_, err := deleteCounting(ctx, s, prefix, chosen)
	return err
}

func deleteCounting[T any, P record[T]](ctx context.Context, s *state.Store, prefix string, chosen func(P) bool) (int, error) {
	entries, err := s.List(ctx, prefix)
	if err != nil {
		return 0, err
	}
	count := 0
	for _, e := range entries {
		m := P(new(T))
		if err := proto.Unmarshal(e.Value, m); err != nil {
			return count, fmt.Errorf("decode %s: %w", e.Key, err)
		}
		if !chosen(m) {
			continue
		}
		if err := s.Apply(ctx, state.Op{Key: e.Key}); err != nil {
			return count, err
		}
		count++
	}
	return count, nil
}
