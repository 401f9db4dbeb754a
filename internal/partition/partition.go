// Package partition says which of several replicas does what, so that all of them agree without a word.
//
// In: the names of the replicas that live, and of what is to be done. Out: who does it. Next: collectors/telemetry.
//
// It is rendezvous hashing (Thaler and Ravishankar, "Using name-based mappings to increase hit rates", IEEE/ACM
// Transactions on Networking 6(1), 1998): each pair of a replica and a key has a weight, and the heaviest replica has
// the key. When a replica goes, only its keys move, and spread over all others; when one comes, only those move that it
// has.
package partition

import (
	"crypto/sha256"
	"encoding/binary"
)

// Owner is the replica that has a key; empty without replicas. Order and repetitions do not matter.
func Owner(replicas []string, key string) (owner string) {
	var heaviest uint64
	for _, r := range replicas {
		w := weight(r, key)
		// Of two that weigh the same, at 1 in 2^64, all replicas choose the same one by its name.
		if owner == "" || w > heaviest || w == heaviest && r < owner {
			owner, heaviest = r, w
		}
	}
	return owner
}

// weight has the length of the replica's name before it, so that no two pairs are written alike.
func weight(replica, key string) uint64 {
	text := binary.AppendUvarint(nil, uint64(len(replica)))
	sum := sha256.Sum256(append(append(text, replica...), key...))
	return binary.BigEndian.Uint64(sum[:])
}
