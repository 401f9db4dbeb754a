package gnmiclient

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/testing/protocmp"
)

func TestPathsReadAndWriteBack(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want *gnmi.Path
	}{
		"the root has no elements": {"/", &gnmi.Path{}},
		"keys belong to their element": {"/interfaces/interface[name=ge-er]/state", &gnmi.Path{Elem: []*gnmi.PathElem{
			{Name: "interfaces"}, {Name: "interface", Key: map[string]string{"name": "ge-er"}}, {Name: "state"},
		}}},
		"two keys and a slash inside a value": {"/a/b[x=1/2][y=z]", &gnmi.Path{Elem: []*gnmi.PathElem{
			{Name: "a"}, {Name: "b", Key: map[string]string{"x": "1/2", "y": "z"}},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePath(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, tc.want, protocmp.Transform()); diff != "" {
				t.Errorf("ParsePath (-got +want):\n%s", diff)
			}
			back, err := FormatPath(got)
			if err != nil || back != tc.in {
				t.Errorf("FormatPath = %q, %v; want %q", back, err, tc.in)
			}
		})
	}
}

func TestBrokenPathsAreRefused(t *testing.T) {
	for _, s := range []string{"", "interfaces", "/a[b", "/a[b=]c]x[", "/a[=x]", `/a\/b`, "//a"} {
		if p, err := ParsePath(s); err == nil {
			t.Errorf("ParsePath(%q) = %v, want an error", s, p)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"/", "/a/b[name=x]/c", `/a[k=\]]`, `/a\/b`, "/a[k=1/2][l=*]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePath(s)
		if err != nil {
			return
		}
		out, err := FormatPath(p)
		if err != nil {
			t.Fatalf("%q parses and cannot be written: %v", s, err)
		}
		again, err := ParsePath(out)
		if err != nil {
			t.Fatalf("%q became %q, which does not parse: %v", s, out, err)
		}
		if diff := cmp.Diff(again, p, protocmp.Transform()); diff != "" {
			t.Errorf("%q became %q (-got +want):\n%s", s, out, diff)
		}
	})
}

func TestCountersAreReadInEveryForm(t *testing.T) {
	for name, tc := range map[string]struct {
		v    *gnmi.TypedValue
		want uint64
		ok   bool
	}{
		"uint_val":                         {&gnmi.TypedValue{Value: &gnmi.TypedValue_UintVal{UintVal: 5}}, 5, true},
		"a negative int_val is no counter": {&gnmi.TypedValue{Value: &gnmi.TypedValue_IntVal{IntVal: -5}}, 0, false},
		"JSON_IETF counter64 is a string":  {&gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(`"18446744073709551615"`)}}, 1<<64 - 1, true},
		"JSON number":                      {&gnmi.TypedValue{Value: &gnmi.TypedValue_JsonVal{JsonVal: []byte(`42`)}}, 42, true},
		"an object is no counter":          {&gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(`{}`)}}, 0, false},
		"nothing is no counter":            {nil, 0, false},
	} {
		got, ok := Uint(tc.v)
		if ok != tc.ok || (ok && got != tc.want) {
			t.Errorf("%s: Uint = %d, %v; want %d, %v", name, got, ok, tc.want, tc.ok)
		}
	}
}
