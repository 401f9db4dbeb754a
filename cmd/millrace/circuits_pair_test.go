package main

import (
	"testing"

	"google.golang.org/protobuf/proto"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

func TestPairsAsPeopleWriteThem(t *testing.T) {
	for text, c := range map[string]struct {
		pair *circuitsv1.PrefixPair
		says string
	}{
		"a,b":                   {&circuitsv1.PrefixPair{Source: "a", Destination: "b"}, "a to b"},
		"a,b,udp":               {&circuitsv1.PrefixPair{Source: "a", Destination: "b", Protocol: "udp"}, "a to b, udp"},
		"a,b,tcp,any,5000-5100": {&circuitsv1.PrefixPair{Source: "a", Destination: "b", Protocol: "tcp", DestinationPorts: "5000-5100"}, "a to b, tcp, to port 5000-5100"},
		"a,b,tcp,1,":            {&circuitsv1.PrefixPair{Source: "a", Destination: "b", Protocol: "tcp", SourcePorts: "1"}, "a to b, tcp, from port 1"},
		"a":                     {},
		"a,b,tcp,1,2,3":         {},
	} {
		p, err := readPair(text)
		if (err != nil) != (c.pair == nil) || !proto.Equal(p, c.pair) {
			t.Errorf("%s: %v, %v; want %v", text, p, err, c.pair)
		}
		if err == nil && pairText(p) != c.says {
			t.Errorf("%s is said as %q, want %q", text, pairText(p), c.says)
		}
	}
}
