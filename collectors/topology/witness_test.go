package topology

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/topo"
)

func idOf(name byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 255, 0, name - 'a' + 1}) }

// drawn is a database of the routers a, b, c … with links such as "ab", one direction each.
func drawn(area, source, routers string, links ...string) database {
	s := topo.Snapshot{Area: area, Source: source}
	for i := range len(routers) {
		s.Nodes = append(s.Nodes, topo.Node{ID: idOf(routers[i])})
	}
	for _, l := range links {
		s.Links = append(s.Links, topo.Link{From: idOf(l[0]), To: idOf(l[1])})
	}
	return newDatabase(s, idOf(source[0]))
}

// both are links in both directions.
func both(links ...string) (out []string) {
	for _, l := range links {
		out = append(out, l, l[1:]+l[:1])
	}
	return out
}

func TestReached(t *testing.T) {
	for _, c := range []struct {
		name string
		d    database
		want int
	}{
		{"a chain", drawn("0", "b", "abc", both("ab", "bc")...), 3},
		{"cut off: the others' links are old", drawn("0", "a", "abc", append(both("bc"), "ba")...), 1},
		{"parallel links", drawn("0", "a", "ab", append(both("ab"), both("ab")...)...), 2},
		{"a link that only one end advertises", drawn("0", "a", "ab", "ab"), 1},
		{"a dead router's LSA", drawn("0", "a", "abc", append(both("ab"), "ca")...), 2},
		{"a router that is not in it", drawn("0", "z", "abc", both("bc")...), 2},
		{"an area of one router", drawn("0", "a", "a"), 1},
		{"a link to a router without LSA", drawn("0", "a", "a", "ab"), 1},
		{"nothing", drawn("0", "a", ""), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.d.reached != c.want {
				t.Errorf("reaches %d, want %d", c.d.reached, c.want)
			}
		})
	}
}

func TestWhatIsReadAndBelieved(t *testing.T) {
	chain := both("ab", "bc", "cd")
	cutA := append(both("bc", "cd"), "ba") // as a has it: b's LSA is still there, a's own has no link
	without := both("bc", "cd")            // as the others have it
	for _, c := range []struct {
		name     string
		shown    []database // by a, b, c, d, in this order
		asked    string
		believed string
	}{
		{"all well", []database{drawn("0", "a", "abcd", chain...), drawn("0", "b", "abcd", chain...)}, "a", "a"},
		{"the first is cut off", []database{
			drawn("0", "a", "abcd", cutA...), drawn("0", "b", "abcd", without...), drawn("0", "c", "abcd", without...), drawn("0", "d", "abcd", without...),
		}, "abcd", "b"},
		{"the first is cut off, and the others have forgotten it", []database{drawn("0", "a", "abcd", cutA...), drawn("0", "b", "bcd", without...)}, "ab", "b"},
		{"the second of two areas has its own", []database{
			drawn("0", "a", "ab", both("ab")...), drawn("0", "b", "ab", both("ab")...), drawn("1", "c", "cd", both("cd")...), drawn("1", "d", "cd", both("cd")...),
		}, "ac", "ac"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var read []database
			asked := ""
			for _, d := range c.shown {
				if !enough(read, idOf(d.Source[0])) {
					asked += d.Source
					read = append(read, d)
				}
			}
			var sources []string
			for _, s := range believed(read) {
				sources = append(sources, s.Source)
			}
			if diff := cmp.Diff([]string{asked, strings.Join(sources, "")}, []string{c.asked, c.believed}); diff != "" {
				t.Errorf("asked and believed (-got +want):\n%s", diff)
			}
		})
	}
}

// With the LSA of a failed router no database of an area is complete; not all of a thousand are read
// because of that.
func TestAsManyDatabasesAsAreEnough(t *testing.T) {
	var read []database
	for range 20 {
		if enough(read, idOf('b')) {
			break
		}
		read = append(read, drawn("0", "a", "abc", both("ab")...))
	}
	if len(read) != witnesses {
		t.Errorf("%d databases were read, want %d", len(read), witnesses)
	}
}
