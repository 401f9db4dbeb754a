package tree

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scribbler makes edits at random out of few names, so that they meet:
// references that hold, dangle, and lose what they point at.
type scribbler struct {
	t *testing.T
	r *rand.Rand
}

func (s scribbler) name() string { return string(rune('a' + s.r.IntN(4))) }

// places are paths that mean something; each %s becomes a name.
var places = []string{
	"/", "/qos", "/qos/queues", "/qos/queues/queue[name=%s]", "/qos/queues/queue[name=%s]/config", "/qos/queues/queue[name=*]/config/queue-id",
	"/qos/queues/queue[name=%s]/config/name", "/qos/queues/queue[name=%s]/config/queue-id", "/qos/forwarding-groups/forwarding-group[name=%s]",
	"/qos/forwarding-groups/forwarding-group[name=%s]/config/output-queue", "/qos/scheduler-policies/scheduler-policy[name=%s]",
	"/qos/scheduler-policies/scheduler-policy[name=%s]/schedulers/scheduler[sequence=1]/inputs/input[id=%s]/config/queue",
	"/qos/scheduler-policies/scheduler-policy[name=%s]/schedulers/scheduler[sequence=1]/inputs", "/qos/interfaces/interface[interface-id=%s]",
	"/qos/interfaces/interface[interface-id=%s]/interface-ref/config/interface", "/qos/interfaces/interface[interface-id=%s]/output/scheduler-policy/config/name",
	"/qos/interfaces/interface[interface-id=%s]/output/queues/queue[name=%s]", "/defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=%s]",
	"/defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=%s]/config/prefix", "/defined-sets", "/network-instances/network-instance[name=DEFAULT]/policy-forwarding",
	"/network-instances/network-instance[name=DEFAULT]/policy-forwarding/policies/policy[policy-id=%s]/rules/rule[sequence-id=7]/ipv4/config/source-address-prefix-set",
	"/network-instances/network-instance[name=DEFAULT]/policy-forwarding/path-selection-groups/path-selection-group[group-id=%s]/config/mpls-lsp",
	"/network-instances/network-instance[name=DEFAULT]/mpls/lsps/constrained-path/tunnels/tunnel[name=%s]/config/type",
	"/network-instances/network-instance[name=DEFAULT]/mpls/lsps/constrained-path/tunnels/tunnel[name=%s]",
	"/interfaces/interface[name=%s]/subinterfaces/subinterface[index=0]/config/description", "/interfaces/interface[name=%s]",
}

func (s scribbler) place() Path {
	p := places[s.r.IntN(len(places))]
	for strings.Contains(p, "%s") {
		p = strings.Replace(p, "%s", s.name(), 1)
	}
	return path(s.t, p)
}

// bodies are JSON for containers and entries.
var bodies = []string{
	`{"qos":{"queues":{"queue":[{"name":"%s","config":{"name":"%s","queue-id":3}}]}}}`, `{"queue":[{"name":"%s","config":{"name":"%s"}}]}`, `{"config":{"name":"%s"}}`, `{"name":"%s","config":{"name":"%s"}}`,
	`{"forwarding-groups":{"forwarding-group":[{"name":"%s","config":{"name":"a","output-queue":"%s"}}]}}`, `{"config":{"output-queue":"%s"}}`, `{"output":{"scheduler-policy":{"config":{"name":"%s"}}}}`,
	`{"schedulers":{"scheduler":[{"sequence":1,"config":{"sequence":1},"inputs":{"input":[{"id":"%s","config":{"id":"%s","queue":"%s","weight":"5"}}]}}]}}`,
	`{"ipv4-prefix-sets":{"ipv4-prefix-set":[{"name":"%s","config":{"name":"%s","prefix":["10.0.0.0/8"]}}]}}`, `{"config":{"name":"%s","prefix":["10.0.0.0/8","192.0.2.0/24"]}}`, `{}`, `{"subinterfaces":{}}`,
}

func (s scribbler) value(p Path) any {
	if k := p.Schema().Kind; k == Container || k == List {
		b := bodies[s.r.IntN(len(bodies))]
		same := s.name()
		for strings.Contains(b, "%s") {
			if s.r.IntN(8) == 0 {
				same = s.name()
			}
			b = strings.Replace(b, "%s", same, 1)
		}
		v, err := decode([]byte(b))
		if err != nil {
			s.t.Fatal(err)
		}
		return v
	}
	return []any{s.name(), s.name(), s.name(), "10.0.0.0/8", "P2P", json.Number("5"), []any{s.name(), s.name()}, true}[s.r.IntN(8)]
}

func (s scribbler) edit(n *Node) (string, error) {
	p := s.place()
	switch s.r.IntN(3) {
	case 0:
		return "delete " + p.String(), n.Delete(p)
	case 1:
		v := s.value(p)
		return fmt.Sprintf("replace %s %v", p, v), n.Replace(p, v)
	}
	v := s.value(p)
	return fmt.Sprintf("update %s %v", p, v), n.Update(p, v)
}

// TestValidationOfTheChangeIsValidationOfTheWhole makes 5,000 random edits and
// compares three judges: the Validator that follows the changes, one that
// counts from nothing, and ygot; and sees that no edit reaches into the tree it
// was forked from.
func TestValidationOfTheChangeIsValidationOfTheWhole(t *testing.T) {
	s := scribbler{t, rand.New(rand.NewPCG(3, 3))}
	accepted, refused := 0, 0
	for range 20 {
		running, v := New(), NewValidator()
		for range 250 {
			before := jsonText(t, running)
			candidate := running.Fork()
			what := ""
			for range 1 + s.r.IntN(3) {
				op, err := s.edit(candidate)
				if what += op + "\n"; err != nil {
					candidate = nil
					break
				}
			}
			if candidate != nil {
				unsettled := jsonText(t, candidate)
				if candidate.Settle(running); jsonText(t, candidate) != unsettled {
					t.Fatalf("after\n%ssettled: %s, was %s", what, jsonText(t, candidate), unsettled)
				}
			}
			if got := jsonText(t, running); got != before {
				t.Fatalf("after\n%sthe running configuration is %s, was %s", what, got, before)
			}
			if candidate == nil {
				continue
			}
			interfaces := []string{"b", "c"}[s.r.IntN(2):]
			err := v.Validate(candidate, interfaces)
			if whole := NewValidator().Validate(candidate, interfaces); (err == nil) != (whole == nil) {
				t.Fatalf("after\n%s%s:\nby change: %v, whole: %v", what, jsonText(t, candidate), err, whole)
			}
			judged, slow := candidate.judgeWhole(interfaces)
			if (err == nil) != (slow == nil) {
				t.Fatalf("after\n%s%s:\nby change: %v, ygot: %v", what, jsonText(t, candidate), err, slow)
			}
			if err != nil {
				refused++
				continue
			}
			accepted++
			if diff := cmp.Diff(jsonText(t, judged), jsonText(t, candidate)); diff != "" {
				t.Fatalf("after\n%sspelling (-ygot +tree):\n%s", what, diff)
			}
			checkChanges(t, running, candidate)
			if got, _ := candidate.AppendJSON(nil, All); len(got) > 0 && string(got) != ietfText(t, candidate) {
				t.Fatalf("AppendJSON writes\n%s, the slow way\n%s", got, ietfText(t, candidate))
			}
			if s.r.IntN(10) > 0 { // a valid change may still fail on the router
				running = candidate
			}
		}
	}
	if accepted < 800 || refused < 400 {
		t.Errorf("%d accepted, %d refused: the edits try too little", accepted, refused)
	}
}

func TestDeletingATargetFindsItsReferrer(t *testing.T) {
	n, v := sample(t), NewValidator()
	if err := v.Validate(n, nil); err != nil {
		t.Fatal(err)
	}
	c := n.Fork()
	if err := c.Delete(path(t, "/qos/queues/queue[name=a]")); err != nil {
		t.Fatal(err)
	}
	err := v.Validate(c, nil)
	if want := `/qos/forwarding-groups/forwarding-group[name=g]/config/output-queue refers to "a", which is not among /qos/queues/queue/config/name`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if err := c.Delete(path(t, "/qos/forwarding-groups")); err != nil {
		t.Fatal(err)
	}
	if err := v.Validate(c, nil); err != nil {
		t.Error(err)
	}
}

func ietfText(t *testing.T, n *Node) string {
	t.Helper()
	v, _ := n.ietf("")
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// checkChanges makes b out of a by doing what Changes says.
func checkChanges(t *testing.T, a, b *Node) {
	t.Helper()
	gone, written := Changes(a, b, Path{}, All)
	made := a.Fork()
	for _, p := range gone {
		made.remove(p.Elems)
	}
	for _, m := range written {
		if err := made.write(m.Path, m.Node.Value, !m.Path.IsListKey()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(jsonText(t, b), jsonText(t, made)); diff != "" {
		t.Fatalf("Changes of %s: gone %v, written %v leads elsewhere (-want +got):\n%s", jsonText(t, a), gone, written, diff)
	}
}

func TestSayingTheSameAgainSharesEverything(t *testing.T) {
	n := sample(t)
	c := n.Fork()
	v, _ := n.ietf("")
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	again, err := decode(raw)
	if err == nil {
		err = c.Replace(Path{}, again)
	}
	if err == nil {
		err = c.Update(path(t, "/qos/queues/queue[name=b]/config/queue-id"), json.Number("7"))
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Settle(n)
	qos, was := c.Members["qos"].Members, n.Members["qos"].Members
	if qos["forwarding-groups"] != was["forwarding-groups"] || qos["queues"] == was["queues"] {
		t.Error("want forwarding-groups to be the same node, and queues another")
	}
	if q, w := qos["queues"].Members["queue"].Members, was["queues"].Members["queue"].Members; q["a"] != w["a"] || q["b"] == w["b"] {
		t.Error("want queue a to be the same node, and queue b another")
	}
}
