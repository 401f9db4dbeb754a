package kernel

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// A row of leafKinds is whole: what a new queue discipline still lacks is said here.
func TestEveryLeafKindIsComplete(t *testing.T) {
	names, handles := map[string]bool{}, map[uint32]bool{}
	for _, k := range leafKinds {
		v := reflect.ValueOf(*k)
		for i := range v.NumField() {
			field := v.Type().Field(i).Name
			if v.Field(i).IsZero() && field != "handle" && (k != &bfifoLeaf || field != "sample" && field != "since") {
				t.Errorf("leaf kind %q has no %s", k.name, field)
			}
		}
		if names[k.name] || handles[k.handle] {
			t.Errorf("leaf kind %q has the name or the handle %#x of another", k.name, k.handle)
		}
		names[k.name], handles[k.handle] = true, true
		if k.handle%leafHandles != 0 {
			t.Errorf("leaf kind %q has handle %#x, which is no multiple of %#x: handles of two kinds overlap", k.name, k.handle, leafHandles)
		}
		q := Queue{Discipline: k.sample, Buffer: 10_000}
		if q.leaf() != k {
			t.Errorf("the sample of leaf kind %q leads to leaf kind %q", k.name, q.leaf().name)
		}
		if other := (Queue{Discipline: k.sample, Buffer: 20_000}); k.want(q) == k.want(other) {
			t.Errorf("leaf kind %q does not tell buffers apart: %s", k.name, k.want(q))
		}
	}
}

func TestAMissingFeatureIsNamedWithTheReleaseThatHasIt(t *testing.T) {
	cause := errors.New("no such qdisc")
	f := Features{}
	f.tried(FeatureRED, redLeaf.since, cause)
	f.tried(FeatureHTB, "", nil)
	plain := Spec{Ports: map[string]Port{"ge-b": {Queues: []Queue{{}}}}}
	if err := f.Require(plain); err != nil {
		t.Errorf("a port without red needs %v", err)
	}
	err := f.Require(Spec{Ports: map[string]Port{"ge-b": {Queues: []Queue{{Discipline: RED{Max: 1}}}}}})
	var unsupported *UnsupportedFeatureError
	if !errors.Is(err, ErrMissing) || !errors.Is(err, cause) || !errors.As(err, &unsupported) || unsupported.Feature != "red" {
		t.Fatalf("got %v", err)
	}
	if got := strings.Join(f.Missing(), "; "); got != err.Error() || !strings.Contains(got, "red") || !strings.Contains(got, "Linux 3.3") {
		t.Errorf("missing: %s", got)
	}
}
