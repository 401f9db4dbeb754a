package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// A person learns since when it is so, by whom, why, and what comes next; none of the states lacks a sentence.
func TestCircuitsWhy(t *testing.T) {
	before, morning := timestamppb.New(night.AsTime().Add(-time.Hour)), timestamppb.New(night.AsTime().Add(8*time.Hour))
	held := circuitsv1.Transition{State: circuitsv1.State_STATE_HELD, Time: before, By: "ann"}
	for name, tc := range map[string]struct {
		circuit *circuitsv1.Circuit
		want    string
	}{
		"held": {&circuitsv1.Circuit{State: circuitsv1.State_STATE_HELD, Expires: night, History: []*circuitsv1.Transition{&held}},
			"circuit c is held since " + clock(before) + ", by ann\n  next: its capacity is free again unless it is committed by " + clock(night) + "\n"},
		"interrupted, and searched for twice": {&circuitsv1.Circuit{
			State: circuitsv1.State_STATE_INTERRUPTED, Late: true,
			History: []*circuitsv1.Transition{&held, {State: circuitsv1.State_STATE_INTERRUPTED, Time: night, By: "millrace", Note: "a link is gone"},
				{State: circuitsv1.State_STATE_INTERRUPTED, Time: morning, By: "millrace", Note: "there is no other path"}},
			NotRestored: &circuitsv1.Refusal{Code: "NO_PATH", Reason: "none is left"},
		}, "circuit c is interrupted since " + clock(night) + ", by millrace: there is no other path\n" +
			"  it began late: routers did not carry it one second after its start\n" +
			"  a link of its path is gone, and it has no other path: NO_PATH: none is left\n" +
			"  next: it is active again when its path is there, or another one is found\n"},
		"active": {&circuitsv1.Circuit{State: circuitsv1.State_STATE_ACTIVE, Preempted: &circuitsv1.Preemption{Circuit: "d", SetupPriority: 2, From: morning, Refusal: &circuitsv1.Refusal{Code: "CAPACITY", Reason: "full"}}},
			"circuit c is active\n  circuit d of setup priority 2 has its capacity from " + clock(morning) + " on; it has no other path: CAPACITY: full\n  next: routers carry it until " + clock(morning) + "\n"},
		"over": {&circuitsv1.Circuit{State: circuitsv1.State_STATE_LAPSED}, "circuit c is lapsed\n  next: that is over\n"},
	} {
		tc.circuit.Id, tc.circuit.Slots = "c", []*circuitsv1.Slot{{Start: night, End: morning}}
		var out bytes.Buffer
		if err := printWhy(&out, tc.circuit); err != nil || out.String() != tc.want {
			t.Errorf("%s: %v, says\n%s\nwant\n%s", name, err, out.String(), tc.want)
		}
	}
}

// What has no limit is said to have none.
func TestCircuitsQuota(t *testing.T) {
	for _, tc := range []struct {
		quota *circuitsv1.QuotaResponse
		want  string
	}{
		{&circuitsv1.QuotaResponse{Project: "astro", Circuits: 2, LimitBitsPerSecond: 6e9, HighestBitsPerSecond: 5e9, LimitGbitHours: 100, BookedGbitHours: 19, LimitHolds: 3, Held: 1,
			LimitLeadSeconds: 172800, FirstPriority: 4, FirstSetupPriority: 7, Between: []*circuitsv1.RouterPair{{A: "pe1", Z: "pe2"}}},
			"project astro has 2 circuits with capacity\n  5000 Mbit/s at the highest from now on, of 6000\n  19 Gbit/s · h, of 100\n  1 held, of 3\n" +
				"  starts may be at most 48h0m0s ahead\n  priority 4 or later, setup priority 7 or later\n  between pe1 and pe2\n"},
		{&circuitsv1.QuotaResponse{Project: "bio", LimitHolds: 10, FirstSetupPriority: 7},
			"project bio has 0 circuits with capacity\n  0 Mbit/s at the highest from now on, no limit\n  0 Gbit/s · h, no limit\n  0 held, of 10\n" +
				"  starts may be any time ahead\n  priority 0 or later, setup priority 7 or later\n"},
	} {
		var out bytes.Buffer
		if err := printQuota(&out, tc.quota); err != nil || out.String() != tc.want {
			t.Errorf("%v, says\n%s\nwant\n%s", err, out.String(), tc.want)
		}
	}
}

func TestCircuitsProposals(t *testing.T) {
	last := timestamppb.New(night.AsTime().Add(-time.Hour))
	var out bytes.Buffer
	err := printProposals(&out, []*circuitsv1.Proposal{
		{Pair: "p1", LastAlpha: last, Days: 3, Terms: &circuitsv1.Terms{From: "pe1", To: "pe2", RateBitsPerSecond: 4e9, Start: night, End: night,
			Pairs: []*circuitsv1.PrefixPair{{Source: "192.0.2.0/24", Destination: "198.51.100.0/24"}}}},
		{Pair: "p2", LastAlpha: last, Days: 1, Problem: "it enters and leaves at router pe1"},
	})
	for _, text := range []string{"pe1", "4000", "192.0.2.0/24,198.51.100.0/24", "p2", "it enters and leaves at router pe1"} {
		if err != nil || !strings.Contains(out.String(), text) {
			t.Errorf("%v, does not say %q:\n%s", err, text, out.String())
		}
	}
}
