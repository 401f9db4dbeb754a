package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Size is how full etcd is, in octets.
type Size struct {
	// File is the database's; InUse of it are not free. Quota is at which File etcd takes no more writes.
	File, InUse, Quota int64
}

// Room is the share of the quota that is left. Etcd counts the file, and not what is in use: free pages are no room
// until it is defragmented.
func (s Size) Room() float64 {
	if s.Quota <= 0 {
		return math.Inf(1)
	}
	return 1 - float64(s.File)/float64(s.Quota)
}

// endpoints are the members' addresses; the embedded one has none.
func (s *Store) endpoints() []string {
	if all := s.client.Endpoints(); len(all) > 0 {
		return all
	}
	return []string{""}
}

// Ready reports whether etcd answers, which takes a majority of its members, and lets this process read and write.
func (s *Store) Ready(ctx context.Context) error {
	_, err := s.client.Get(ctx, s.root, clientv3.WithCountOnly())
	if err == nil {
		err = s.permission.ask(ctx, s)
	}
	switch {
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return s.permission.explain(err, s.root)
	case err != nil:
		return fmt.Errorf("etcd does not answer: %w", err)
	}
	return nil
}

// memberWithin is how long a member may take to say how full it is. Without it one that is down would be waited for.
const memberWithin = 2 * time.Second

// sizes queries every member. Those that do not answer are missing; where none does it is an error.
func (s *Store) sizes(ctx context.Context) (map[string]Size, error) {
	out, errs := map[string]Size{}, []error(nil)
	for _, endpoint := range s.endpoints() {
		request, cancel := context.WithTimeout(ctx, memberWithin)
		r, err := s.client.Status(request, endpoint)
		cancel()
		if err != nil {
			errs = append(errs, fmt.Errorf("read the size of etcd %s: %w", endpoint, err))
			continue
		}
		out[endpoint] = Size{File: r.DbSize, InUse: r.DbSizeInUse, Quota: r.DbSizeQuota}
	}
	if len(out) == 0 {
		return nil, errors.Join(errs...)
	}
	return out, nil
}

// Size is that of the fullest member that answers.
func (s *Store) Size(ctx context.Context) (Size, error) {
	sizes, err := s.sizes(ctx)
	if err != nil {
		return Size{}, err
	}
	return slices.MinFunc(slices.Collect(maps.Values(sizes)), func(a, b Size) int { return cmp.Compare(a.Room(), b.Room()) }), nil
}

var (
	// ErrFull: etcd's file has reached its quota.
	ErrFull = rpctypes.ErrNoSpace
	// ErrForbidden: etcd's user may not do this, such as to make room, which is root's.
	ErrForbidden = rpctypes.ErrPermissionDenied
)

// MakeRoom lets etcd forget old revisions, gives the free pages of all members that answer back, one after the other,
// and ends the alarm of an etcd that was full. No key is changed. A member answers no requests while it is
// defragmented.
func (s *Store) MakeRoom(ctx context.Context) error {
	r, err := s.client.Get(ctx, s.root, clientv3.WithCountOnly())
	if err == nil {
		_, err = s.client.Compact(ctx, r.Header.Revision, clientv3.WithCompactPhysical())
	}
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("let etcd forget old revisions: %w", forbidden(err))
	}
	if err := s.defragmentAll(ctx); err != nil {
		return err
	}
	return s.endFull(ctx)
}

func (s *Store) defragmentAll(ctx context.Context) error {
	if s.defragment != nil {
		return s.defragment()
	}
	sizes, err := s.sizes(ctx)
	if err != nil {
		return err
	}
	for _, endpoint := range slices.Sorted(maps.Keys(sizes)) {
		if _, err := s.client.Defragment(ctx, endpoint); err != nil {
			return fmt.Errorf("defragment etcd %s: %w", endpoint, forbidden(err))
		}
	}
	return nil
}

// endFull ends the alarm that keeps etcd from taking writes.
func (s *Store) endFull(ctx context.Context) error {
	alarms, err := s.client.AlarmList(ctx)
	if err != nil {
		return fmt.Errorf("read etcd's alarms: %w", err)
	}
	for _, a := range alarms.Alarms {
		if a.Alarm != pb.AlarmType_NOSPACE {
			continue
		}
		if _, err := s.client.AlarmDisarm(ctx, (*clientv3.AlarmMember)(a)); err != nil {
			return fmt.Errorf("end the alarm of a full etcd: %w", forbidden(err))
		}
	}
	return nil
}
