package gnmiclient

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
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

// FuzzPathAsYgot compares with ygot, with three exceptions: ygot drops a last
// element that has no end and a slash (/a[k/ is the root to it), takes
// backslashes in names, and splits at a slash behind an escaped bracket.
func FuzzPathAsYgot(f *testing.F) {
	for _, s := range []string{"/", "//", "/a/", "/a//", "/a/b[name=x]/c", `/a[k=\]]`, `/a[k=\]/x]`, "/a[k=1/2][l=*]", "/a[k=[]", "/a[k=]", "/a[=v]", "/a[k]", "/a[k=v]x", "/a b", "/a[k=v", "/a[k=a=b]", `/a[k=\\]`, "/a[k=v][k=w]", "/a]", "/[k=v]", "/a[k=//]", "/a[k l=v]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || !strings.HasPrefix(s, "/") || strings.HasSuffix(s, "//") {
			return
		}
		want, wantErr := ygot.StringToStructuredPath("/" + strings.TrimSuffix(s[1:], "/"))
		for _, e := range want.GetElem() {
			if e.GetName() == "" {
				wantErr = errors.New("an element has no name")
			}
		}
		got, err := ParsePath(s)
		if !strings.Contains(s, `\`) && (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v; ygot: %v", s, err, wantErr)
		}
		if err != nil || wantErr != nil {
			return
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%q (-ygot +got):\n%s", s, diff)
		}
		text, err := FormatPath(got)
		parts, wantErr := ygot.PathToStrings(want)
		if err != nil || wantErr != nil || text != "/"+strings.Join(parts, "/") {
			t.Errorf("%q is written %q (%v), by ygot %q (%v)", s, text, err, parts, wantErr)
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
