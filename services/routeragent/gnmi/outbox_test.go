package gnmi

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/services/routeragent/octest"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// words is a notification in one line per change.
func words(t *testing.T, ns []*gnmi.Notification) []string {
	t.Helper()
	text := func(p *gnmi.Path) string {
		s, err := ygot.PathToString(p)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var out []string
	for _, n := range ns {
		for _, p := range n.GetDelete() {
			out = append(out, fmt.Sprintf("%d delete %s", n.GetTimestamp(), text(p)))
		}
		for _, u := range n.GetUpdate() {
			out = append(out, fmt.Sprintf("%d %s=%d missed %d", n.GetTimestamp(), text(u.GetPath()), u.GetVal().GetUintVal(), u.GetDuplicates()))
		}
	}
	return out
}

func sampled(t *testing.T, values map[string]uint64) map[string]leaf {
	t.Helper()
	out := map[string]leaf{}
	for s, v := range values {
		p := at(t, s)
		out[p.String()] = leaf{p, &gnmi.Update{Path: p.Proto(), Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_UintVal{UintVal: v}}}}
	}
	return out
}

func at(t *testing.T, s string) tree.Path {
	t.Helper()
	gp, err := ygot.StringToStructuredPath(s)
	if err != nil {
		t.Fatal(err)
	}
	p, err := tree.Resolve(nil, gp)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheOutboxHoldsOneValuePerLeaf(t *testing.T) {
	const a, b = "/qos/queues/queue[name=a]/config/queue-id", "/qos/queues/queue[name=b]/config/queue-id"
	gone := func(s string) map[string]leaf { p := at(t, s); return map[string]leaf{p.String(): {path: p}} }
	for name, c := range map[string]struct {
		fill func(*outbox)
		want []string
	}{
		"newer values replace older ones and count them": {func(o *outbox) {
			o.put(1, sampled(t, map[string]uint64{a: 1, b: 1}), nil)
			o.put(2, sampled(t, map[string]uint64{a: 2}), nil)
			o.put(3, sampled(t, map[string]uint64{a: 3}), nil)
		}, []string{"1 " + b + "=1 missed 0", "3 " + a + "=3 missed 2"}},
		"a deletion takes the values below it": {func(o *outbox) {
			o.put(1, sampled(t, map[string]uint64{a: 1, b: 1}), nil)
			o.put(2, nil, gone("/qos/queues/queue[name=a]"))
		}, []string{"1 " + b + "=1 missed 0", "2 delete /qos/queues/queue[name=a]"}},
		"what comes back after a deletion comes after it": {func(o *outbox) {
			o.put(1, nil, gone("/qos/queues/queue[name=a]"))
			o.put(2, sampled(t, map[string]uint64{a: 5}), nil)
		}, []string{"1 delete /qos/queues/queue[name=a]", "2 " + a + "=5 missed 0"}},
		"nothing is nothing": {func(o *outbox) { o.put(1, nil, nil) }, nil},
	} {
		o := newOutbox()
		c.fill(o)
		if diff := cmp.Diff(c.want, words(t, o.take())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if left := o.take(); len(left) != 0 {
			t.Errorf("%s: %d notifications are left after take", name, len(left))
		}
	}
}

// New names can come and go for ever; what waits for a reader that reads nothing may not grow for ever.
func TestAReaderThatLeavesTooManyDeletionsIsGivenUp(t *testing.T) {
	o := newOutbox()
	o.most = 100
	var err error
	rounds := 0
	for ; err == nil && rounds < 3*o.most; rounds++ {
		p := at(t, fmt.Sprintf("/qos/queues/queue[name=q%d]", rounds))
		err = o.put(int64(rounds), nil, map[string]leaf{p.String(): {path: p}})
	}
	if status.Code(err) != codes.ResourceExhausted || rounds > o.most+2 {
		t.Errorf("after %d deletions: %v", rounds, err)
	}
	// One that reads may hear of any number at once.
	o.take()
	all := map[string]leaf{}
	for i := range 20 * o.most {
		p := at(t, fmt.Sprintf("/qos/queues/queue[name=q%d]", i))
		all[p.String()] = leaf{path: p}
	}
	for range 3 {
		if err := o.put(1, nil, all); err != nil {
			t.Fatal(err)
		}
		o.take()
	}
}

func TestLongNotificationsAreSplit(t *testing.T) {
	o, values := newOutbox(), map[string]uint64{}
	for i := range maxUpdates + 1 {
		values[fmt.Sprintf("/qos/queues/queue[name=q%d]/config/queue-id", i)] = 1
	}
	o.put(1, sampled(t, values), nil)
	if ns := o.take(); len(ns) != 2 || len(ns[0].GetUpdate()) != maxUpdates || len(ns[1].GetUpdate()) != 1 {
		t.Errorf("%d notifications", len(ns))
	}
}

// Every default the agent answers must be a value that ygot takes.
func TestDefaultsAreValid(t *testing.T) {
	if len(defaults()) == 0 {
		t.Fatal("no defaults")
	}
	for s, v := range defaults() {
		n := tree.New()
		p := path(s)
		if err := n.Update(p, v); err != nil {
			t.Errorf("%s: %v", s.Path(), err)
			continue
		}
		raw, _ := n.AppendJSON(nil, tree.All)
		if err := octest.Unmarshal(raw, &octest.Device{}); err != nil {
			t.Errorf("%s = %v: %v", s.Path(), v, err)
		}
	}
}

// path is a leaf with x or 1 as every key.
func path(s *tree.Schema) tree.Path {
	if s.Parent == nil {
		return tree.Path{}
	}
	p := path(s.Parent)
	e := tree.Elem{Schema: s}
	if s.Kind == tree.List {
		e.Keys = map[string]string{}
		for _, k := range s.Keys {
			e.Keys[k] = "1"
		}
	}
	return tree.Path{Elems: append(p.Elems, e)}
}
