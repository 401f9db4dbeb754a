package online

import "crypto/sha256"

const (
	// seenBatches is how many batches are remembered, so that repetitions are recognised: at two per second, those of
	// 500 exporters for a minute.
	seenBatches = 1 << 16
	seenOctets  = 16 * 4
)

// seen remembers the newest batches, since a bus delivers at least once.
type seen struct {
	ids  map[[16]byte]bool
	ring [][16]byte
	next int
}

// first reports whether a batch comes for the first time, and remembers it.
func (s *seen) first(id string) bool {
	sum := sha256.Sum256([]byte(id))
	key := [16]byte(sum[:16])
	if s.ids[key] {
		return false
	}
	if s.ids == nil {
		s.ids = map[[16]byte]bool{}
	}
	s.ids[key] = true
	if len(s.ring) < seenBatches {
		s.ring = append(s.ring, key)
		return true
	}
	delete(s.ids, s.ring[s.next])
	s.ring[s.next] = key
	s.next = (s.next + 1) % seenBatches
	return true
}
