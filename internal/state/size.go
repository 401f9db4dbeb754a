package state

import (
	"context"
	"fmt"
	"math"
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

// Size asks every member, and returns the size of the fullest.
func (s *Store) Size(ctx context.Context) (fullest Size, err error) {
	for i, endpoint := range s.endpoints() {
		r, err := s.client.Status(ctx, endpoint)
		if err != nil {
			return Size{}, fmt.Errorf("ask etcd %s for its size: %w", endpoint, err)
		}
		if size := (Size{File: r.DbSize, InUse: r.DbSizeInUse, Quota: r.DbSizeQuota}); i == 0 || size.Room() < fullest.Room() {
			fullest = size
		}
	}
	return fullest, nil
}
