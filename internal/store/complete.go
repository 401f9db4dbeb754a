package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// complete finds a server that has all that was in the logs when it was first asked. Without ZooKeeper no server
// knows what others took, and there is none.
func (c *cluster) complete(ctx context.Context, sql string) (*server, error) {
	had := map[*member]map[string]uint64{}
	for end := time.Now().Add(c.patience); ; {
		s, err := c.look(ctx, sql, had)
		if s != nil || ctx.Err() != nil || time.Now().After(end) {
			return s, err
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// look asks each server once, until one has everything.
func (c *cluster) look(ctx context.Context, sql string, had map[*member]map[string]uint64) (*server, error) {
	var empty []*server
	all := []error{ErrBehind}
	for i := range c.members {
		m := c.members[(int(c.current.Load())+i)%len(c.members)]
		s, err := m.open(ctx)
		var now []Replica
		if err == nil {
			now, err = Replicas(ctx, s)
		}
		if err != nil {
			all = append(all, fmt.Errorf("%s: %w", m.address, err))
			continue
		}
		if had[m] == nil && !readOnly(now) { // without ZooKeeper it does not know the end of the log
			had[m] = ends(now)
		}
		switch {
		case len(now) == 0: // nothing was made yet, or its disk is lost
			empty = append(empty, s)
		case had[m] != nil && whole(now, had[m]):
			if err = c.synchronize(ctx, s, now, sql); err == nil {
				err = prove(ctx, s, now, sql)
			}
			if err == nil {
				return s, nil
			}
		}
		all = append(all, fmt.Errorf("%s: %s", m.address, Describe(now)), err)
	}
	if len(empty) == len(c.members) {
		return empty[0], nil
	}
	return nil, errors.Join(all...)
}

// settle waits until a server has what was in the logs when it was first asked, or until a replica is away, which it
// cannot wait for, and refuses it if it shows more than was stored. A server that does not reach ZooKeeper would not
// take rows either.
func (c *cluster) settle(ctx context.Context, s *server, sql string) error {
	var had map[string]uint64
	for end := time.Now().Add(c.patience); ; {
		now, err := Replicas(ctx, s)
		switch {
		case err != nil:
			return err
		case readOnly(now):
			return errors.New(Describe(now))
		case had == nil:
			had = ends(now)
		}
		if whole(now, had) && c.synchronize(ctx, s, now, sql) == nil || alone(now) {
			return prove(ctx, s, now, sql)
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w: %s", ErrBehind, Describe(now))
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// synchronize waits for the tables that a statement names. What a server says of its replicas is not enough: it
// counts an entry of the log as read shortly before it counts the part as missing.
func (c *cluster) synchronize(ctx context.Context, s *server, replicas []Replica, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, max(c.patience, leastPatience))
	defer cancel()
	mode, err := s.syncMode()
	if err != nil {
		return err
	}
	for _, r := range replicas {
		if !strings.Contains(sql, r.Table) {
			continue
		}
		if err := s.Exec(ctx, "SYSTEM SYNC REPLICA "+r.Table+mode); err != nil {
			return fmt.Errorf("wait for table %s: %w", r.Table, err)
		}
	}
	return nil
}

// leastPatience is what the order to wait takes by itself.
const leastPatience = time.Second

// Describe says what a server lacks, or that it lacks nothing.
func Describe(replicas []Replica) string {
	if len(replicas) == 0 {
		return "has no replicated table"
	}
	for _, r := range replicas {
		switch {
		case r.ReadOnly:
			return fmt.Sprintf("table %s is read-only, because the server does not reach ZooKeeper", r.Table)
		case r.Behind():
			return fmt.Sprintf("table %s is behind: %d parts are missing, and %d entries of the log are not read", r.Table, r.Missing, r.unread())
		}
	}
	return fmt.Sprintf("has all rows of %d tables", len(replicas))
}

func (r Replica) unread() uint64 {
	if r.Read > r.LogEnd || r.LogEnd == 0 {
		return 0
	}
	return r.LogEnd + 1 - r.Read
}
