package gnmi

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// elements is a path of elements as they stand in the text; a[k=v] gives a key.
func elements(text string) *gnmi.Path {
	p := &gnmi.Path{}
	for name := range strings.FieldsSeq(text) {
		e := &gnmi.PathElem{}
		var key string
		if e.Name, key, _ = strings.Cut(strings.TrimSuffix(name, "]"), "["); key != "" {
			k, v, _ := strings.Cut(key, "=")
			e.Key = map[string]string{k: v}
		}
		p.Elem = append(p.Elem, e)
	}
	return p
}

func expanded(t *testing.T, path *gnmi.Path) []string {
	t.Helper()
	all, err := expand(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	return texts(all)
}

func texts(all []*gnmi.Path) []string {
	var out []string
	for _, p := range all {
		out = append(out, textOf(p))
	}
	slices.Sort(out)
	return out
}

// One path of many elements "..." must not keep the agent busy for days.
func TestManyWildcardsMeanWhatOneDoes(t *testing.T) {
	for _, c := range []struct{ many, one string }{
		{strings.Repeat("... ", 25) + "state", "... state"},
		{strings.Repeat("... ", 25) + "* state", "... * state"},
		{strings.Repeat("... * ", 6) + strings.Repeat("... ", 19) + "state", "* * * * * * ... state"},
		{"interfaces" + strings.Repeat(" ...", 25), "interfaces ..."},
	} {
		if got, want := expanded(t, elements(c.many)), expanded(t, elements(c.one)); !slices.Equal(got, want) {
			t.Errorf("%q is %d paths, %q is %d", c.many, len(got), c.one, len(want))
		}
	}
}

func TestAPathLongerThanTheModelIsDeepIsRefused(t *testing.T) {
	s := serverOf(&router{config: queues(t, 1)})
	for _, name := range []string{anyLevels, anyName, "qos"} {
		long := elements(strings.Repeat(name+" ", 100_000))
		for _, req := range []*gnmi.GetRequest{{Path: []*gnmi.Path{long}}, {Prefix: long}} {
			if _, err := s.Get(t.Context(), req); status.Code(err) != codes.InvalidArgument {
				t.Errorf("Get of 100,000 %s: %.200v, want INVALID_ARGUMENT", name, err)
			}
		}
		list := &gnmi.SubscriptionList{Subscription: []*gnmi.Subscription{{Path: long}}}
		if err := s.Subscribe(&once{ctx: t.Context(), list: list}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("Subscribe to 100,000 %s: %.200v, want INVALID_ARGUMENT", name, err)
		}
		if _, err := s.Set(t.Context(), &gnmi.SetRequest{Delete: []*gnmi.Path{long}}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("delete of 100,000 %s: %.200v, want INVALID_ARGUMENT", name, err)
		}
	}
}

// What a path with wildcards means is compared with a search that tries every node of the model.
func TestWildcardsMatchEveryNodeThatTheyMean(t *testing.T) {
	var all [][]*tree.Schema
	var collect func(at []*tree.Schema, s *tree.Schema)
	collect = func(at []*tree.Schema, s *tree.Schema) {
		all = append(all, at)
		for _, c := range s.Children {
			collect(append(slices.Clip(at), c), c)
		}
	}
	collect(nil, tree.Root())
	for _, text := range []string{
		"...", "*", "* *", "... queue-id", "qos ... state", "... interface ... state", "* * ... * name", "... *[name=x]", "... *[name=x] ... state",
		"... * ... * ... state", "network-instances ... *[name=x] ... *[name=y] ... name",
	} {
		path := elements(text)
		want := map[string]bool{}
		for _, node := range all {
			matches(node, path.GetElem(), nil, want)
		}
		if got := expanded(t, path); !slices.Equal(got, sorted(want)) {
			t.Errorf("%q means %d paths, want %d", text, len(got), len(want))
		}
	}
}

// matches puts each path into found that the elements mean and that ends at the node.
func matches(node []*tree.Schema, elems, at []*gnmi.PathElem, found map[string]bool) {
	switch {
	case len(elems) == 0:
		if len(node) == 0 {
			found[textOf(&gnmi.Path{Elem: at})] = true
		}
		return
	case elems[0].GetName() == anyLevels:
		matches(node, elems[1:], at, found)
		if len(node) > 0 && len(elems) > 1 {
			matches(node[1:], elems, append(slices.Clip(at), &gnmi.PathElem{Name: node[0].Name}), found)
		}
		return
	case len(node) == 0:
		return
	}
	e := elems[0]
	for k := range e.GetKey() {
		if !slices.Contains(node[0].Keys, k) {
			return
		}
	}
	if e.GetName() == anyName || e.GetName() == node[0].Name {
		matches(node[1:], elems[1:], append(slices.Clip(at), &gnmi.PathElem{Name: node[0].Name, Key: e.GetKey()}), found)
	}
}

func sorted(set map[string]bool) []string {
	var out []string
	for k := range set {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// A request of many such paths is refused before it fills the memory, and ends with its client.
func TestManyPathsWithWildcardsAreRefused(t *testing.T) {
	s := serverOf(&router{config: queues(t, 1)})
	req := &gnmi.GetRequest{}
	for range 100_000 {
		req.Path = append(req.Path, elements("... name"))
	}
	if _, err := s.Get(t.Context(), req); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("Get: %v, want RESOURCE_EXHAUSTED", err)
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.Get(ctx, req); status.Code(err) != codes.Canceled {
		t.Errorf("Get of a client that left: %v, want CANCELED", err)
	}
}
