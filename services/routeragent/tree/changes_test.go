package tree

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
)

// described is what Changes says, a line each.
func described(gone []Path, written []Match) []string {
	var out []string
	for _, p := range gone {
		out = append(out, "- "+p.String())
	}
	for _, m := range written {
		out = append(out, "+ "+m.Path.String()+"="+text(m.Node.Value))
	}
	slices.Sort(out)
	return out
}

func TestChangesAsASubscriberHearsThem(t *testing.T) {
	const queues = "/qos/queues/queue"
	noID := func(s *Schema) bool { return s.Name != "queue-id" }
	for _, c := range []struct {
		name, path string
		keep       Filter
		edit       func(*Node) error
		want       []string
	}{
		{"nothing", "/", All, func(n *Node) error { return nil }, nil},
		{"a leaf", "/", All, func(n *Node) error { return n.Update(path(t, queues+"[name=a]/config/queue-id"), json.Number("7")) },
			[]string{"+ " + queues + "[name=a]/config/queue-id=7"}},
		{"a leaf that is not selected", queues + "[name=b]", All, func(n *Node) error { return n.Update(path(t, queues+"[name=a]/config/queue-id"), json.Number("7")) }, nil},
		{"an entry that goes", "/qos", All, func(n *Node) error { return n.Delete(path(t, queues+"[name=b]")) }, []string{"- " + queues + "[name=b]"}},
		{"an entry that goes, to whom its leaf was told", queues + "/config/queue-id", All, func(n *Node) error { return n.Delete(path(t, queues+"[name=b]")) },
			[]string{"- " + queues + "[name=b]/config/queue-id"}},
		{"a leaf that goes from an entry that stays", queues, All, func(n *Node) error { return n.Delete(path(t, queues+"[name=b]/config/queue-id")) },
			[]string{"- " + queues + "[name=b]/config/queue-id"}},
		{"all entries", "/", All, func(n *Node) error { return n.Delete(path(t, "/qos/queues")) }, []string{"- " + queues + "[name=a]", "- " + queues + "[name=b]"}},
		{"a leaf that is not kept", "/", noID, func(n *Node) error { return n.Delete(path(t, queues+"[name=b]/config/queue-id")) }, nil},
		{"an entry that comes", queues + "[name=c]", noID, func(n *Node) error { return n.Update(path(t, queues+"[name=c]/config/queue-id"), json.Number("7")) },
			[]string{"+ " + queues + "[name=c]/config/name=c", "+ " + queues + "[name=c]/name=c"}},
	} {
		before := sample(t)
		after := before.Fork()
		if err := c.edit(after); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, described(Changes(before, after, path(t, c.path), c.keep))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// The state of a router laid over its configuration shares both, and the next reading shares the last.
func TestReadingsShareWhatIsTheSame(t *testing.T) {
	config := sample(t)
	state := func(octets uint64) *Node {
		n := New()
		n.Into("interfaces").Entry("interface", "x").Into("state", "counters").Set("in-octets", octets)
		n.Into("interfaces").Entry("interface", "y").Into("state").Set("mtu", 1500)
		n.Into("qos", "queues").Entry("queue", "a").Into("state").Set("name", "a")
		return n
	}
	before := jsonText(t, config)
	last := state(1)
	first := config.Overlay(last)
	if got := jsonText(t, config); got != before {
		t.Errorf("the configuration was changed to %s", got)
	}
	for _, want := range []string{`"in-octets":1`, `"queue-id":2`, `"state":{"name":"a"}`, `"output-queue":"a"`} {
		if !strings.Contains(jsonText(t, first), want) {
			t.Errorf("%s is missing in %s", want, jsonText(t, first))
		}
	}
	next := state(2)
	next.Settle(last)
	second := config.Overlay(next)
	second.Settle(first)
	shared := func(names ...string) bool {
		a, b := first, second
		for _, name := range names {
			a, b = a.Members[name], b.Members[name]
		}
		return a == b
	}
	if !shared("qos") {
		t.Error("what did not change is kept twice")
	}
	if shared("interfaces") || jsonText(t, second) == jsonText(t, first) {
		t.Error("what changed is not there")
	}
	if got := jsonText(t, config); got != before {
		t.Errorf("the configuration was changed to %s", got)
	}
}

func TestValuesAreTheLeaves(t *testing.T) {
	n := sample(t)
	want, got := []string{}, []string{}
	m := Match{Node: n}
	m.Leaves(func(l Match) { want = append(want, l.Path.String()) })
	err := m.Values(func(p *gnmi.Path, leaf *Node) error {
		q, err := Resolve(nil, p)
		got = append(got, q.String())
		return err
	})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-leaves +values):\n%s", err, diff)
	}
}
