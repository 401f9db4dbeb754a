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
	nightlyRun := &alphav1.NightlyResponse{InCircuits: []*alphav1.InCircuit{{Circuit: "c7", Pair: &alphav1.Pair{
		Src: "10.1.0.0/24", Dst: "10.2.0.0/24", Exporter: "192.0.2.1", Evidence: []*alphav1.Evidence{{Bytes: 2e9}},
	}}}}
	if err := printNightlyRun(&out, nightlyRun, false); err != nil {
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

// A change set may have failed, or been approved by its rule, when the command prints: its state is not guessed.
func TestANightlyRunSaysNothingOfItsChangeSetsState(t *testing.T) {
	var out strings.Builder
	nightlyRun := &alphav1.NightlyResponse{ChangeId: "c-7", Warnings: []string{"change set c-7 failed; the next nightly run requests another in its place"}}
	if err := printNightlyRun(&out, nightlyRun, false); err != nil {
		t.Fatal(err)
	}
	const want = "warning: change set c-7 failed; the next nightly run requests another in its place\n" +
		"0 pairs added, 0 refreshed, 0 aged out\nchange set c-7 was requested: millrace change show c-7\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestWhatIsAlphaNowIsPrinted(t *testing.T) {
	var out strings.Builder
	pair := func(id string) *alphav1.Pair {
		return &alphav1.Pair{Id: id, Src: "10.1.0.0/24", Dst: "10.2.0.0/24", Evidence: []*alphav1.Evidence{{Bytes: 2e9}}}
	}
	err := printNow(&out, &alphav1.NowResponse{
		Warnings: []string{"no telemetry of router ER is known"},
		Pairs: []*alphav1.AlphaNow{
			{Pair: pair("p1"), State: alphav1.NowState_NOW_STATE_UNIDENTIFIED, Router: "WR"},
			{Pair: pair("p2"), State: alphav1.NowState_NOW_STATE_KNOWN, Certain: true, ChangeId: "c-7"},
			{Pair: pair("p3"), State: alphav1.NowState_NOW_STATE_IN_CIRCUIT, Certain: true, Circuit: "k-1"},
			{Pair: pair("p4"), State: alphav1.NowState_NOW_STATE_KNOWN, Certain: true, Circuit: "k-1", ChangeId: "c-8"},
		},
		Ports: []*alphav1.PortNow{{Router: "WR", Port: "ge-er", BitsPerSecond: 8e7, DropsPerSecond: 2, Queues: []*alphav1.QueueNow{{Queue: "te-beta", BitsPerSecond: 1e6, DropsPerSecond: 1.5, DelayMs: new(98.4)}, {Queue: "te-alpha"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"warning: no telemetry of router ER is known PAIR SOURCE", "p1 10.1.0.0/24 10.2.0.0/24 WR unidentified, not certain", "p2 10.1.0.0/24 10.2.0.0/24 - known ",
		"2000.0 MB in 0s c-7 p3", " in circuit ", "2000.0 MB in 0s k-1 p4", "2000.0 MB in 0s k-1, c-8 ROUTER", "WR ge-er all 80.0 2.0 te-beta 1.0 1.5 98.4 te-alpha 0.0 0.0 -",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}

func TestBoundsOfEvidenceArePrinted(t *testing.T) {
	for want, e := range map[string]*alphav1.Evidence{
		"-": {SamplingRate: 1, Bytes: 2e9, LowBytes: 2e9, HighBytes: 2e9, MinBytes: 1e9},
		"900.0 MB and 1300.0 MB: may be below the threshold": {SamplingRate: 100, LowBytes: 9e8, HighBytes: 13e8, MinBytes: 1e9},
		"1900.0 MB and 2100.0 MB":                            {SamplingRate: 100, LowBytes: 19e8, HighBytes: 21e8, MinBytes: 1e9},
	} {
		if got := bounds(e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := bounds(&alphav1.Evidence{SamplingRate: 100, Bytes: 2e9}); got != "-" {
		t.Errorf("of evidence that an earlier release stored: %q", got)
	}
}
