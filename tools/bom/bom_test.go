package main

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"

	"github.com/millrace/millrace/internal/testkit/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// TestNothingIsLinkedThatMustNotBe reads the binary itself: every module has a licence that is allowed, and both files
// name it.
func TestNothingIsLinkedThatMustNotBe(t *testing.T) {
	info, err := buildinfo.ReadFile(program.Path)
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Deps) < 50 {
		t.Fatalf("%s has %d modules", program.Path, len(info.Deps))
	}
	folder := t.TempDir()
	once := func() (sbom, texts []byte) {
		of := func(name string) string { return filepath.Join(folder, name) }
		if err := run(program.Path, of("sbom"), of("licences")); err != nil {
			t.Fatal(err)
		}
		return read(t, of("sbom")), read(t, of("licences"))
	}
	sbom, texts := once()
	if again, texts2 := once(); !bytes.Equal(sbom, again) || !bytes.Equal(texts, texts2) {
		t.Error("the second run wrote something else")
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(sbom), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if got, want := len(*bom.Components), len(info.Deps)+1; got != want {
		t.Errorf("the bill of materials has %d components, want %d", got, want)
	}
	for _, c := range *bom.Components {
		if !strings.Contains(string(texts), "\n"+c.Name+" "+c.Version+": ") {
			t.Errorf("the licence of %s is missing", c.Name)
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestJudge(t *testing.T) {
	licence := func(file string) []text { return []text{{"LICENSE", read(t, file)}} }
	for _, tc := range []struct {
		name  string
		texts []text
		want  string // empty: it may be linked
	}{
		{"this repository", licence("../../LICENSE"), ""},
		{"GPL 2", licence("/usr/share/common-licenses/GPL-2"), "its licence GPL-2.0"},
		{"GPL 3", licence("/usr/share/common-licenses/GPL-3"), "its licence GPL-3.0"},
		{"a header of the AGPL", []text{{"COPYING", []byte(agpl)}}, "its licence AGPL-3.0"},
		{"both", append(licence("../../LICENSE"), licence("/usr/share/common-licenses/GPL-2")...), "its licence GPL-2.0"},
		{"no text", nil, "no licence is found"},
		{"a text that is no licence", []text{{"LICENSE", []byte("All rights reserved.")}}, "no licence is found"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := judge([]module{{path: "example.net/x", version: "v1", licences: identify(tc.texts)}})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %v, want one with %q", err, tc.want)
			}
		})
	}
}

const agpl = `This program is free software: you can redistribute it and/or modify it under the terms of the GNU Affero General
Public License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version.`
