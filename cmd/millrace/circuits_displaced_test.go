package main

import (
	"bytes"
	"testing"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// A quote says who would make room, before anything is done.
func TestCircuitsDisplaced(t *testing.T) {
	of := []*circuitsv1.Displaced{
		{Circuit: "c1", Project: "astro", Priority: 7, RateBitsPerSecond: 1e9, PreemptedFrom: night},
		{Circuit: "c2", Project: "bio", Priority: 6, RateBitsPerSecond: 2e9, Path: []*circuitsv1.Hop{{From: "10.0.0.1", To: "10.0.0.2"}}},
	}
	var out bytes.Buffer
	printDisplaced(&out, true, of)
	want := "  would preempt: circuit c1 of project astro, priority 7, 1000 Mbit/s, from " + clock(night) + " on\n" +
		"  would move: circuit c2 of project bio, priority 6, 2000 Mbit/s\n    to path 10.0.0.1 -> 10.0.0.2\n"
	if out.String() != want {
		t.Errorf("says %q, want %q", out.String(), want)
	}
}
