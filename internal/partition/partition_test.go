package partition

import (
	"fmt"
	"slices"
	"testing"
)

func names(of string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%s%d", of, i))
	}
	return out
}

func TestOwner(t *testing.T) {
	for _, c := range []struct {
		name     string
		replicas []string
		key      string
		want     string
	}{
		{"nobody is there", nil, "r1", ""},
		{"one has everything", []string{"a"}, "r1", "a"},
		{"one that is listed twice is one", []string{"a", "a"}, "r1", "a"},
		{"an empty key is a key", []string{"a"}, "", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Owner(c.replicas, c.key); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Replicas that read the list in another order agree.
func TestTheOrderDoesNotMatter(t *testing.T) {
	replicas := names("replica", 5)
	back := slices.Clone(replicas)
	slices.Reverse(back)
	for _, k := range names("router", 200) {
		if a, b := Owner(replicas, k), Owner(back, k); a != b {
			t.Errorf("%s: %s and %s", k, a, b)
		}
	}
}

// Of n replicas each has about its part of the keys.
func TestKeysAreSpread(t *testing.T) {
	for _, n := range []int{2, 3, 7} {
		const keys = 7000
		has := map[string]int{}
		replicas := names("host/", n)
		for _, k := range names("router", keys) {
			has[Owner(replicas, k)]++
		}
		for _, r := range replicas {
			if part := keys / n; has[r] < part*8/10 || has[r] > part*12/10 {
				t.Errorf("%d replicas: %s has %d of %d keys", n, r, has[r], keys)
			}
		}
	}
}

// When a replica goes, only what it had moves; when it comes back, it has the same again.
func TestOnlyTheKeysOfADeadReplicaMove(t *testing.T) {
	all := names("replica", 4)
	left := []string{all[0], all[2], all[3]}
	taken := map[string]int{}
	for _, k := range names("router", 1000) {
		before, after := Owner(all, k), Owner(left, k)
		switch {
		case before == all[1]:
			taken[after]++
		case before != after:
			t.Errorf("%s moved from %s to %s, though both live", k, before, after)
		}
	}
	if len(taken) != len(left) {
		t.Errorf("what the dead one had went to %v, want all that are left", taken)
	}
}

// Names that begin with one another are other pairs: "ab" and "c" is not "a" and "bc".
func TestNamesAreNotRunTogether(t *testing.T) {
	if weight("ab", "c") == weight("a", "bc") {
		t.Error("two pairs weigh the same")
	}
}
