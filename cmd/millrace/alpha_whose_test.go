package main

import (
	"strings"
	"testing"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
)

func TestPairsShowWhoseTheyAre(t *testing.T) {
	tagged := &alphav1.Pair{Id: "p-1", SentBytes: 4e9, Tags: []*alphav1.PairTag{
		{Community: 2, CommunityName: "atlas", Activity: 16, ActivityName: "Production Output", Bytes: 3e9}, {Community: 3, CommunityName: "cms", ActivityName: "0", Bytes: 4e8},
	}}
	for _, c := range []struct {
		name string
		pair *alphav1.Pair
		list string // of the pair's row
		all  string
	}{
		{"with tags", tagged, "  atlas/Production Output 75.0 %  ", "whose flows: atlas/Production Output 75.0 %, cms 10.0 % of 4000.0 MB\n"},
		{"without", &alphav1.Pair{Id: "p-2"}, "  -  ", ""},
	} {
		var list, all strings.Builder
		if err := printPairs(&list, "", []*alphav1.Pair{c.pair}); err != nil || !strings.Contains(list.String(), c.list) {
			t.Errorf("%s: %v\n%s", c.name, err, list.String())
		}
		if err := printEvidence(&all, c.pair); err != nil || c.all != "" && !strings.Contains(all.String(), c.all) || c.all == "" && strings.Contains(all.String(), "whose") {
			t.Errorf("%s: %v\n%s", c.name, err, all.String())
		}
	}
}
