package kernel

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/internal/bpfmap"
	"github.com/millrace/millrace/services/routeragent/bpf"
)

// Buckets is how many parts the flows of a set of paths fall into (SET_BUCKETS of bpf/maps.h).
const Buckets = 256

// MaxMembers of a set of paths. With so many, the one of least weight still has a bucket.
const MaxMembers = 16

// Member is a path of a set.
type Member struct {
	// Path is an id of Spec.Paths.
	Path int
	// Weight is its share of the flows, 1 to 255, relative to the other members.
	Weight int
	// Counter is the index of the counter of what takes it, below MaxRuleCounters.
	Counter int
}

// quotas are the buckets that each member gets: in proportion to the weights, what is left over to the largest
// remainders, and one at least.
func quotas(members []Member) []int {
	total := 0
	for _, m := range members {
		total += m.Weight
	}
	out, left := make([]int, len(members)), Buckets
	for i, m := range members {
		out[i] = max(m.Weight*Buckets/total, 1)
		left -= out[i]
	}
	owed := func(i int) int { return members[i].Weight*Buckets - out[i]*total }
	for ; left != 0; left -= sign(left) {
		best := -1
		for i := range members {
			switch {
			case left < 0 && out[i] == 1:
			case best < 0 || sign(left)*owed(i) > sign(left)*owed(best):
				best = i
			}
		}
		out[best] += sign(left)
	}
	return out
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

// assign gives every bucket a member. A bucket keeps the path that it had as long as the path may have so many: a
// change of weights moves as few flows as it can.
func assign(had bpf.ClassifierPathSet, members []Member) bpf.ClassifierPathSet {
	left, byPath := quotas(members), map[uint32]int{}
	for i, m := range members {
		byPath[uint32(m.Path)] = i
	}
	var out bpf.ClassifierPathSet
	var empty []int
	give := func(bucket, member int) {
		left[member]--
		out.Bucket[bucket] = bpf.ClassifierBucketPath{Path: uint32(members[member].Path), Hit: uint32(members[member].Counter)}
	}
	for b, old := range had.Bucket {
		if i, is := byPath[old.Path]; is && left[i] > 0 {
			give(b, i)
		} else {
			empty = append(empty, b)
		}
	}
	i := 0
	for _, b := range empty {
		for left[i] == 0 {
			i++
		}
		give(b, i)
	}
	return out
}

// heldSet is the set that the programs have; false: none.
func (c *classifier) heldSet(id int) (have bpf.ClassifierPathSet, ok bool) {
	return have, c.obj.Sets.Lookup(uint32(id), &have) == nil
}

// ensureSets writes the sets that are new or differ, each in one write: a packet sees the old one or the new one.
func (c *classifier) ensureSets(sets map[int][]Member) error {
	for _, id := range slices.Sorted(maps.Keys(sets)) {
		have, ok := c.heldSet(id)
		want := assign(have, sets[id])
		if ok && have == want {
			continue
		}
		if err := c.kernel.step(fmt.Sprintf("put set of paths %d", id), func() error { return bpfmap.Put(c.obj.Sets, uint32(id), want) }); err != nil {
			return err
		}
	}
	return nil
}

// pruneSetsOfPaths removes the sets that are gone.
func (c *classifier) pruneSetsOfPaths(sets map[int][]Member) error {
	have, err := bpfmap.All[uint32, bpf.ClassifierPathSet](c.obj.Sets)
	if err != nil {
		return fmt.Errorf("list sets of paths: %w", err)
	}
	for id := range have {
		if sets[int(id)] != nil {
			continue
		}
		err := c.kernel.step(fmt.Sprintf("remove set of paths %d", id), func() error { return c.obj.Sets.Delete(id) })
		if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return err
		}
	}
	return nil
}

func (c *classifier) verifySets(sets map[int][]Member) error {
	all, err := bpfmap.All[uint32, bpf.ClassifierPathSet](c.obj.Sets)
	if err != nil {
		return fmt.Errorf("list sets of paths: %w", err)
	}
	for id := range all {
		if sets[int(id)] == nil {
			return fmt.Errorf("set of paths %d should not be there", id)
		}
	}
	for id, members := range sets {
		if have, ok := all[uint32(id)]; !ok || have != assign(have, members) {
			return fmt.Errorf("set of paths %d differs from the intended one", id)
		}
	}
	return nil
}

// SetShares are the buckets of each path of a set, as the classifier has them.
func (k *Kernel) SetShares(id int) (map[int]int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.bpf.obj == nil {
		return nil, nil
	}
	have, ok := k.bpf.heldSet(id)
	if !ok {
		return nil, nil
	}
	out := map[int]int{}
	for _, b := range have.Bucket {
		out[int(b.Path)]++
	}
	return out, nil
}
