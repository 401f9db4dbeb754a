package main

import (
	"bytes"
	"strings"
	"testing"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// 1 bit/s is what the service books for them.
func TestCircuitsOfNoGuaranteedRateAreListedAsThat(t *testing.T) {
	of := func(rate int64) *circuitsv1.Circuit {
		return &circuitsv1.Circuit{Id: "c1", Terms: &circuitsv1.Terms{Project: "astro"}, Slots: []*circuitsv1.Slot{{RateBitsPerSecond: rate}}}
	}
	var out bytes.Buffer
	if err := printCircuits(&out, []*circuitsv1.Circuit{of(1), of(2_500_000)}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if got := strings.Fields(lines[1])[3]; got != "none" {
		t.Errorf("none is guaranteed, and %s Mbit/s is listed", got)
	}
	if got := strings.Fields(lines[2])[3]; got != "2.5" {
		t.Errorf("2.5 Mbit/s is listed as %s", got)
	}
}
