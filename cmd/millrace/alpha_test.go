package main

import (
	"strings"
	"testing"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
)

// A nightly run whose only alpha flows arrived within a circuit names the circuit, and reports that nothing
// changes.
func TestANightlyRunWithinCircuitsIsPrinted(t *testing.T) {
	var out strings.Builder
	night := &alphav1.NightlyResponse{InCircuits: []*alphav1.InCircuit{{Circuit: "c7", Pair: &alphav1.Pair{
		Src: "10.1.0.0/24", Dst: "10.2.0.0/24", Exporter: "192.0.2.1", Evidence: []*alphav1.Evidence{{Bytes: 2e9}},
	}}}}
	if err := printNight(&out, night, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"within circuits, so not added:\nCIRCUIT  SOURCE", "\nc7       10.1.0.0/24  10.2.0.0/24  192.0.2.1", "2000.0 MB",
		"\n\n0 pairs added, 0 refreshed, 0 aged out\nno router's rules change",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}
