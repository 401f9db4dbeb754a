package tree

import (
	"encoding/json"
	"testing"

	"github.com/openconfig/ygot/ygot"
)

func sample(t *testing.T) *Node {
	t.Helper()
	n, err := FromJSON([]byte(`{"openconfig-qos:qos":{"queues":{"queue":[
		{"name":"a","config":{"name":"a","queue-id":1}},{"name":"b","config":{"name":"b","queue-id":2}}]},
		"forwarding-groups":{"forwarding-group":[{"name":"g","config":{"name":"g","output-queue":"a"}}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func path(t *testing.T, s string) Path {
	t.Helper()
	gp, err := ygot.StringToStructuredPath(s)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Resolve(nil, gp)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func jsonText(t *testing.T, n *Node) string {
	t.Helper()
	v, _ := n.JSON(All, false)
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestPick(t *testing.T) {
	for _, c := range []struct{ paths, want string }{
		{"/qos/queues/queue[name=a]/config/queue-id", `{"qos":{"queues":{"queue":[{"config":{"queue-id":1},"name":"a"}]}}}`},
		{"/qos/queues/queue[name=b]", `{"qos":{"queues":{"queue":[{"config":{"name":"b","queue-id":2},"name":"b"}]}}}`},
		{"/qos/forwarding-groups", `{"qos":{"forwarding-groups":{"forwarding-group":[{"config":{"name":"g","output-queue":"a"},"name":"g"}]}}}`},
		{"/interfaces", `{}`},
	} {
		n := sample(t)
		before := jsonText(t, n)
		got := n.Pick(path(t, c.paths))
		if jsonText(t, got) != c.want {
			t.Errorf("pick %s: %s, want %s", c.paths, jsonText(t, got), c.want)
		}
		got.Into("qos", "queues").Entry("queue", "a").Into("config").Set("queue-id", uint32(9))
		if jsonText(t, n) != before {
			t.Errorf("pick %s shares data with its source", c.paths)
		}
	}
	both := sample(t).Pick(path(t, "/qos/queues/queue[name=a]/config/name"), path(t, "/qos/queues/queue[name=a]/config/queue-id"))
	if want := `{"qos":{"queues":{"queue":[{"config":{"name":"a","queue-id":1},"name":"a"}]}}}`; jsonText(t, both) != want {
		t.Errorf("two paths: %s, want %s", jsonText(t, both), want)
	}
}

func TestCoversAndOverlaps(t *testing.T) {
	for _, c := range []struct {
		p, q             string
		covers, overlaps bool
	}{
		{"/qos", "/qos/queues/queue[name=a]", true, true},
		{"/qos/queues/queue[name=a]", "/qos", false, true},
		{"/qos/queues/queue[name=*]", "/qos/queues/queue[name=a]/config", true, true},
		{"/qos/queues/queue[name=a]", "/qos/queues/queue[name=b]", false, false},
		{"/qos", "/interfaces", false, false},
	} {
		p, q := path(t, c.p), path(t, c.q)
		if p.Covers(q) != c.covers || p.Overlaps(q) != c.overlaps {
			t.Errorf("%s and %s: covers %v, overlaps %v", c.p, c.q, p.Covers(q), p.Overlaps(q))
		}
	}
}

// FuzzUpdate writes any JSON anywhere: it may refuse, never panic, and what it takes ygot must be able to judge.
func FuzzUpdate(f *testing.F) {
	for _, s := range []string{`{"qos":{"queues":{"queue":[{"name":"a"}]}}}`, `{"openconfig-qos:qos":{}}`, `[]`, `null`, `{"qos":null}`, `{"qos":{"queues":{"queue":[{}]}}}`, `{"qos":{"queues":{"queue":[{"name":{}}]}}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := decode([]byte(s))
		if err != nil {
			return
		}
		n := sample(t)
		if n.Update(Path{}, v) == nil {
			_, _ = n.Judge(nil)
		}
	})
}
