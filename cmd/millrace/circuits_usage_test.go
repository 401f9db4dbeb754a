package main

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// Usage of a circuit for packets is within the rate and above it, that of one between ports goes both ways.
func TestUsageIsPrintedAsTheCircuitIs(t *testing.T) {
	point := &circuitsv1.UsagePoint{
		Time:            timestamppb.New(time.Date(2026, 11, 23, 22, 0, 0, 0, time.UTC)),
		InProfileOctets: 7_500_000, InProfilePackets: 5000, ExcessOctets: 750_000, ExcessPackets: 500, ReturnOctets: 15_000_000, ReturnPackets: 10_000,
	}
	for name, c := range map[string]struct {
		between, unknown bool
		want             []string
	}{
		"packets": {false, false, []string{"IN PROFILE Mbit/s EXCESS Mbit/s PACKETS EXCESS PACKETS", "1.000 0.100 5000 500", "total 0.007500 GB 0.000750 GB 5000 500"}},
		"frames":  {true, false, []string{"FORTH Mbit/s BACK Mbit/s FRAMES FORTH FRAMES BACK", "1.000 2.000 5000 10000", "total 0.007500 GB 0.015000 GB 5000 10000"}},
		"a port that is not heard of": {true, true, []string{
			"FORTH Mbit/s BACK Mbit/s FRAMES FORTH FRAMES BACK", "1.000 2.000 5000 10000", "total 0.007500 GB 0.015000 GB 5000 10000",
			"incomplete: of one port, or of both, no router has said what entered there",
		}},
	} {
		var out strings.Builder
		u := &circuitsv1.UsageResponse{StepSeconds: 60, BetweenPorts: c.between, CarriedUnknown: c.unknown, Points: []*circuitsv1.UsagePoint{point}, Total: point}
		if err := printUsage(&out, u); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != len(c.want) {
			t.Fatalf("%s: %q", name, out.String())
		}
		for i, line := range lines {
			if got := strings.Join(strings.Fields(line), " "); !strings.HasSuffix(got, c.want[i]) {
				t.Errorf("%s: line %d is %q, want …%q", name, i, got, c.want[i])
			}
		}
	}
}
