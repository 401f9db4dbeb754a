package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

func TestTheClientIsCurrent(t *testing.T) {
	files, err := generate("../..")
	if err != nil || len(files) != 2 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("../..", folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(got), string(want)); diff != "" {
			t.Errorf("%s is not current; run go run ./tools/python (-file +generated):\n%s", name, diff)
		}
		for line := range strings.Lines(string(want)) {
			if n := len(strings.TrimRight(line, "\n")); n > columns {
				t.Errorf("%s: a line of %d columns: %s", name, n, line)
			}
		}
	}
}

// Nothing that the .proto file says is lost: each declaration is found, and each comment belongs to one.
func TestEveryCommentIsRead(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("../..", protoFile))
	if err != nil {
		t.Fatal(err)
	}
	c := readComments(string(source))
	known := map[string]bool{}
	expect := func(of protoreflect.Name, name protoreflect.Name) {
		full := string(of)
		if name != "" {
			full += "." + string(name)
		}
		known[full] = true
		if _, found := c.text[full]; !found {
			t.Errorf("%s was not found", full)
		}
	}
	file := circuitsv1.File_millrace_circuits_v1_circuits_proto
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		expect(m.Name(), "")
		for j := range m.Fields().Len() {
			expect(m.Name(), m.Fields().Get(j).Name())
		}
		if m.Messages().Len() > 0 {
			t.Errorf("%s has messages in it, which readComments does not know", m.Name())
		}
	}
	for i := range file.Enums().Len() {
		e := file.Enums().Get(i)
		expect(e.Name(), "")
		for j := range e.Values().Len() {
			expect(e.Name(), e.Values().Get(j).Name())
		}
	}
	methods := file.Services().ByName(service).Methods()
	expect(service, "")
	for i := range methods.Len() {
		expect(service, methods.Get(i).Name())
	}
	words := 0
	for name, text := range c.text {
		if !known[name] {
			t.Errorf("there is no %s", name)
		}
		words += len(strings.Fields(text))
	}
	said := 0
	_, body, _ := strings.Cut(string(source), "syntax =") // before it is the comment of the file
	for line := range strings.Lines(body) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "//"); ok {
			said += len(strings.Fields(text))
		}
	}
	if words != said || words == 0 {
		t.Errorf("%d of %d words of comments belong to something", words, said)
	}
}
