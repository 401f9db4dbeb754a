package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

var declared = regexp.MustCompile(`(?m)^(package|service) ([\w.]+)`)

// Each service of the .proto files is in the page: its package is imported here.
func TestEveryServiceIsImported(t *testing.T) {
	files, err := filepath.Glob("../../proto/millrace/*/v1/*.proto")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pkg := ""
		for _, m := range declared.FindAllStringSubmatch(string(raw), -1) {
			if m[1] == "package" {
				pkg = m[2]
				continue
			}
			if _, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(pkg + "." + m[2])); err != nil {
				t.Errorf("%s declares %s, whose package tools/rights/main.go does not import: %v", file, m[2], err)
			}
		}
	}
}
