package kinds

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Every kind says how it is written; one that is changed names a test that exists, in which an older process leaves the
// fields of a newer one; and the page has it.
func TestEveryKindIsShown(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/kept-data.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range All {
		switch k.Writing {
		case Changed, Once, Replaced:
		default:
			t.Errorf("%s is written %q", k.Keys(), k.Writing)
		}
		if (k.Writing == Changed) != (k.Test != "") {
			t.Errorf("%s is %s, and its test is %q", k.Keys(), k.Writing, k.Test)
		}
		if k.Test != "" && !shows(t, k) {
			t.Errorf("%s: no %s in %s plants fields of a newer process", k.Keys(), k.Test, k.Owner)
		}
		row := "| `" + k.Keys() + "` | `" + string(k.Record.ProtoReflect().Descriptor().FullName()) + "` | " + string(k.Writing) + " | `" + k.Owner + "` |"
		if !bytes.Contains(page, []byte(row)) {
			t.Errorf("docs/reference/kept-data.md lacks the row\n%s", row)
		}
	}
	if rows := bytes.Count(page, []byte("| changed |")) + bytes.Count(page, []byte("| once |")) + bytes.Count(page, []byte("| replaced |")); rows != len(All) {
		t.Errorf("docs/reference/kept-data.md has %d kinds, want %d", rows, len(All))
	}
}

// shows reports whether the test is there, and fails where a kind of the owner is not written again in it.
func shows(t *testing.T, k Kind) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../../..", k.Owner, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte("\nfunc "+k.Test+"(")) && bytes.Contains(raw, []byte("newer.Owner(t, \""+k.Owner+"\")")) {
			return true
		}
	}
	return false
}

// No two kinds have the same key, and none hides in octets what this program cannot keep: pieces of plans alone, which
// are compressed.
func TestKindsAreApart(t *testing.T) {
	for i, k := range All {
		key := k.Prefix
		if !k.One {
			key += "x" + k.Suffix
		}
		if of, known := Of(key); !known || of.Keys() != k.Keys() {
			t.Errorf("%s is of kind %s", key, of.Keys())
		}
		for _, other := range All[:i] {
			if other.Keys() == k.Keys() {
				t.Errorf("%s stands there twice", k.Keys())
			}
		}
		if _, octets := k.Record.(*wrapperspb.BytesValue); octets && k.Prefix != "change-contents/" {
			t.Errorf("%s are octets, of which an older process keeps nothing that it does not know", k.Keys())
		}
	}
	for _, key := range []string{"", "changes", "changes/", "identity/", "alpha/current/x", "locks/routers/wr"} {
		if k, known := Of(key); known {
			t.Errorf("%q is of kind %s", key, k.Keys())
		}
	}
}
