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
	v, _ := n.JSON(All)
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestOverlaps(t *testing.T) {
	for _, c := range []struct {
		p, q string
		want bool
	}{
		{"/qos", "/qos/queues/queue[name=a]", true},
		{"/qos/queues/queue[name=a]", "/qos", true},
		{"/qos/queues/queue[name=*]", "/qos/queues/queue[name=a]/config", true},
		{"/qos/queues/queue[name=a]", "/qos/queues/queue[name=b]", false},
		{"/qos", "/interfaces", false},
	} {
		if got := path(t, c.p).Overlaps(path(t, c.q)); got != c.want {
			t.Errorf("%s and %s overlap: %v, want %v", c.p, c.q, got, c.want)
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
