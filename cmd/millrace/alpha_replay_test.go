package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
)

// The first values of all flags make the first rule; what is given once is every rule's.
func TestRulesOfAReplay(t *testing.T) {
	days := func(n int) *durationpb.Duration { return durationpb.New(time.Duration(n) * 24 * time.Hour) }
	for name, c := range map[string]struct {
		flags replayFlags
		want  []*alphav1.ReplayRule
		err   string
	}{
		"none":     {replayFlags{}, []*alphav1.ReplayRule{{}}, ""},
		"two":      {replayFlags{prefixes: []string{"24", "/32"}}, []*alphav1.ReplayRule{{Ipv4Length: proto.Uint32(24)}, {Ipv4Length: proto.Uint32(32)}}, ""},
		"once":     {replayFlags{minBytes: []string{"500MB"}, ages: []string{"7d", "12h"}}, []*alphav1.ReplayRule{{MinBytes: proto.Uint64(5e8), AgeAfter: days(7)}, {MinBytes: proto.Uint64(5e8), AgeAfter: durationpb.New(12 * time.Hour)}}, ""},
		"two of 3": {replayFlags{minBytes: []string{"1GB", "2GB"}, ages: []string{"1d", "2d", "3d"}}, nil, "--min-bytes is given 2 times, and there are 3 rules"},
		"no size":  {replayFlags{minBytes: []string{"much"}}, nil, "--min-bytes"},
		"no span":  {replayFlags{intervals: []string{"long"}}, nil, "--interval"},
		"no bits":  {replayFlags{prefixes: []string{"/x"}}, nil, "--prefix"},
	} {
		req, err := c.flags.request(time.Now())
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want an error with %q", name, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(req.GetRules(), c.want, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
}

func TestAReplayIsPrinted(t *testing.T) {
	r := &replayed{Rule: "/24"}
	r.add(&alphav1.ReplayResponse{Pairs: 3, Added: 2, AlphaBytes: 10e9, CaughtBytes: 9e9, RedirectedBytes: 20e9, FalselyRedirectedBytes: 1e9})
	r.add(&alphav1.ReplayResponse{Pairs: 5, Added: 1, AgedOut: 3, AlphaBytes: 10e9, CaughtBytes: 10e9, RedirectedBytes: 20e9, FalselyRedirectedBytes: 1e9, RefusedExporters: 1})
	var out strings.Builder
	if err := printReplay(&out, []*replayed{r}); err != nil {
		t.Fatal(err)
	}
	line := strings.Join(strings.Fields(strings.Split(out.String(), "\n")[1]), " ")
	if want := "/24 2 5 (5) 3.0 (4) 20.0 GB 95.0 % 40.0 GB 5.0 %"; line != want || !strings.Contains(out.String(), "in 1 cases") {
		t.Errorf("got  %s\nwant %s\nin %s", line, want, out.String())
	}
}

func TestEffectivenessIsSummedUpByMonth(t *testing.T) {
	day := func(date string, alpha, caught24, caught32 uint64, pairs uint32) *alphav1.EffectivenessDay {
		at, err := time.Parse(time.DateOnly, date)
		if err != nil {
			t.Fatal(err)
		}
		return &alphav1.EffectivenessDay{Day: timestamppb.New(at), AlphaBytes: alpha, Caught_24Bytes: caught24, Caught_32Bytes: caught32, Pairs_24: pairs, Pairs_32: 2 * pairs}
	}
	list := []*alphav1.EffectivenessDay{
		day("2026-10-30", 100e9, 0, 0, 0), day("2026-10-31", 100e9, 90e9, 80e9, 4), day("2026-11-01", 0, 0, 0, 5), day("2026-11-02", 50e9, 50e9, 40e9, 6),
	}
	var out strings.Builder
	if err := printEffectiveness(&out, &alphav1.EffectivenessResponse{Days: list, MinBytes: 1e9, Interval: durationpb.New(time.Minute)}, false); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n")[3:] {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"2026-10 2 200.0 GB 45.0 % 40.0 % 4 8",
		"2026-11 2 50.0 GB 100.0 % 80.0 % 6 12",
		"all 4 250.0 GB 56.0 % 48.0 % 6 12",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s\n%s", diff, out.String())
	}
	if n := len(catches(list, true)); n != 5 {
		t.Errorf("%d lines by day, want 4 and their sum", n)
	}
}

// A rule is named as it was written, so that a row can be tried again.
func TestReplayRulesAreNamedAsTheyAreWritten(t *testing.T) {
	for want, rule := range map[string]*alphav1.ReplayRule{
		"as configured":           {},
		"1GB in 1m0s /24 age 30d": {MinBytes: proto.Uint64(1e9), Interval: durationpb.New(time.Minute), Ipv4Length: proto.Uint32(24), AgeAfter: durationpb.New(30 * 24 * time.Hour)},
		"500MB age 12h0m0s":       {MinBytes: proto.Uint64(5e8), AgeAfter: durationpb.New(12 * time.Hour)},
	} {
		if got := replayRuleText(rule); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
