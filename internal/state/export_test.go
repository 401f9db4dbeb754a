package state

import "context"

// Compact forgets all revisions but the newest.
func (s *Store) Compact(ctx context.Context) error {
	r, err := s.client.Get(ctx, "none")
	if err != nil {
		return err
	}
	_, err = s.client.Compact(ctx, r.Header.Revision)
	return err
}

// Kill ends an embedded etcd as its own failure would.
func Kill(e *Embedded) { e.etcd.Server.Stop() }
