package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/goyang/pkg/yang"

	"github.com/millrace/millrace/services/routeragent/model"
)

const top = "../.."

func TestTheTablesAreCurrent(t *testing.T) {
	trim, err := os.ReadFile(filepath.Join(top, "yang/trim.txt"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := tables(string(trim))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		have, err := os.ReadFile(filepath.Join(top, "services/routeragent/model", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(have)); diff != "" {
			t.Errorf("%s: run make generate (-generated +committed):\n%s", name, diff)
		}
	}
}

func TestWhatTheTableCannotSayIsAnError(t *testing.T) {
	at := &node{Node: model.Node{Path: "/a/config/b"}}
	for name, typ := range map[string]*yang.YangType{
		"bits":                        {Name: "bits", Kind: yang.Ybits},
		"a range of fractions":        {Name: "uint8", Kind: yang.Yuint8, Range: yang.YangRange{{Min: yang.FromFloat(1.5), Max: yang.FromFloat(2.5)}}},
		"a range below zero":          {Name: "int8", Kind: yang.Yint8, Range: yang.YangRange{{Min: yang.FromInt(-5), Max: yang.FromInt(-1)}}},
		"two enumerations in a union": {Name: "u", Kind: yang.Yunion, Type: []*yang.YangType{enumeration("x"), enumeration("y")}},
		"an enumeration of nothing":   {Name: "enumeration", Kind: yang.Yenum, Enum: yang.NewEnumType()},
	} {
		if got, err := convert(at, typ); err == nil {
			t.Errorf("%s becomes %+v", name, got)
		}
	}
	leaf := &node{Node: model.Node{Path: "/a", Kind: model.LeafList, Type: &model.Type{Kind: model.String}}, entry: &yang.Entry{Default: []string{"x", "y"}}}
	if err := leaf.setDefault(); err == nil {
		t.Errorf("two defaults become %q", leaf.Default)
	}
}

func enumeration(word string) *yang.YangType {
	e := yang.NewEnumType()
	if err := e.Set(word, 1); err != nil {
		panic(err)
	}
	return &yang.YangType{Name: "enumeration", Kind: yang.Yenum, Enum: e}
}
