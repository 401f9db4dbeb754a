package detect

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/scitags"
)

// Pairs with new evidence get other tags, wherever the result lists them; the others keep theirs.
func TestTagsOfFreshPairs(t *testing.T) {
	key := func(n byte) Key {
		src := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, n, 0}), 24)
		return Key{Exporter: netip.MustParseAddr("192.0.2.1"), Prefixes: Prefixes{src, netip.MustParsePrefix("10.9.9.0/24")}}
	}
	tags := func(bytes uint64) Tags {
		return Tags{Sent: bytes + 1, Of: []TagBytes{{Tag: scitags.Tag{Community: 2}, Community: "atlas", Activity: "0", Bytes: bytes}}}
	}
	pair := func(n byte) Pair { return Pair{Key: key(n), Tags: tags(1)} }
	r := Result{Pairs: []Pair{pair(1), pair(2), pair(3), pair(4)}, Added: []Pair{pair(1)}, Refreshed: []Pair{pair(2), pair(3)}, AgedOut: []Pair{pair(5)}}
	if got, want := r.Fresh(), []Key{key(1), key(2), key(3)}; !slices.Equal(got, want) {
		t.Errorf("fresh: %v, want %v", got, want)
	}
	r.Tag(map[Key]Tags{key(1): tags(10), key(2): tags(20)})
	for _, c := range []struct {
		p    Pair
		want uint64
	}{{r.Pairs[0], 10}, {r.Pairs[1], 20}, {r.Pairs[2], 1}, {r.Pairs[3], 1}, {r.Added[0], 10}, {r.Refreshed[0], 20}, {r.Refreshed[1], 1}, {r.AgedOut[0], 1}} {
		if c.p.Tags.Of[0].Bytes != c.want || c.p.Tags.Sent != c.want+1 {
			t.Errorf("%v: %+v, want %d", c.p.Key, c.p.Tags, c.want)
		}
	}
	a, b := pair(1), pair(1)
	if b.Tags = tags(2); a.Equal(b) || !a.Equal(pair(1)) {
		t.Error("pairs with other tags are equal, or those with the same are not")
	}
	b = pair(1)
	if b.Tags.Sent++; a.Equal(b) {
		t.Error("pairs that sent other bytes are equal")
	}
}
