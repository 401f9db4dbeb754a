package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
)

func TestSplitsOfAChangeSet(t *testing.T) {
	got, err := parseSplits([]string{"wr:ge-0/0/1=30", "er:eth0:1.10=5"})
	want := []*policyv1.PortSplit{{Router: "wr", Interface: "ge-0/0/1", Beta: 30}, {Router: "er", Interface: "eth0:1.10", Beta: 5}}
	if diff := cmp.Diff(got, want, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("%v (-got +want):\n%s", err, diff)
	}
	for _, text := range []string{"", "wr", "wr=30", "wr:ge-0", "wr:ge-0=", "wr:ge-0=0", "wr:ge-0=100", "wr:ge-0=x", ":ge-0=30", "wr:=30", "wr:ge-0=300"} {
		if got, err := parseSplits([]string{text}); err == nil {
			t.Errorf("%q is taken as %v", text, got)
		}
	}
}
