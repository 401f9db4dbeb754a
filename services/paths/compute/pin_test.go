package compute

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A booked path has segments, or a reason why it has none.
func TestPin(t *testing.T) {
	g := network(t, "a b 10 100", "b c 10 50", "a c 30 100", "a d 10 100", "d a 20 100")
	for _, c := range []struct {
		what, links, segments, why string
		none                       bool
	}{
		{"the IGP's own path", "a>b#0 b>c#2", "10.255.0.3", "", false},
		{"one link of it", "b>c#2", "10.255.0.3", "", false},
		{"there and back", "a>b#0 b>a#1", "10.255.0.2 10.255.0.1", "", false},
		{"a link that costs more than the detour", "a>c#4", "", "the IGP does not send traffic from a to c over link a>c#4 alone", true},
		{"the dearer one of parallel links", "d>a#8", "", "the IGP does not send traffic from d to a over link d>a#8 alone", true},
		{"a link that is gone", "a>b#0 b>x#9", "", "link b>x#9 of the path is no longer in the topology", true},
		{"links that do not meet", "a>b#0 a>d#6", "", "link a>d#6 begins at a, and the one before ends at b", false},
		{"no links", "", "", "there are none", false},
	} {
		t.Run(c.what, func(t *testing.T) {
			p, err := Pin(g, strings.Fields(c.links))
			if c.why != "" {
				if err == nil || !strings.Contains(err.Error(), c.why) || errors.Is(err, ErrNoPath) != c.none {
					t.Errorf("error %v, want %q, none: %t", err, c.why, c.none)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Trim(fmt.Sprint(p.Segments), "[]"); got != c.segments || len(p.Nodes) != len(p.Links)+1 {
				t.Errorf("segments %s, want %s; nodes %v", got, c.segments, p.Nodes)
			}
		})
	}
}

// A path that leads back to a router has no bound, and each of its links may take a search of the whole network.
func TestAPathOfAsManyLinksAsRoutersIsRefused(t *testing.T) {
	g := network(t, "a b 10 100", "b c 10 50")
	for links, why := range map[string]string{
		"a>b#0 b>c#2":       "",
		"a>b#0 b>a#1 a>x#0": "no path: link a>x#0 of the path is no longer in the topology", // there may have been more
		"a>b#0 b>a#1 a>b#0": "the links are no path: there are 3, and 3 routers, so that one comes twice",
	} {
		if _, err := Pin(g, strings.Fields(links)); why == "" && err != nil || why != "" && (err == nil || err.Error() != why) {
			t.Errorf("%s: %v, want %q", links, err, why)
		}
	}
}
