package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rpc"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
)

// What a request wants of its path arrives as it was written.
func TestCircuitsRequestSaysWhatItWantsOfItsPath(t *testing.T) {
	s := &circuitsOf{}
	mux := http.NewServeMux()
	mux.Handle(circuitsv1connect.NewCircuitsServiceHandler(s, rpc.Bounded(rpc.MaxRequest)))
	server := httptest.NewServer(mux)
	defer server.Close()
	cmd := root()
	cmd.SetOut(&bytes.Buffer{})
	cmd.SetArgs([]string{
		"circuits", "request", "pe1", "pe2", "--project", "astro", "--by", "ann", "--server", server.URL, "--rate", "1", "--request-id", "r",
		"--metric", "delay", "--max-delay", "12ms", "--max-hops", "4", "--max-sids", "3", "--via", "p3", "--via", "p1,p2", "--include-any", "1,2", "--include-all", "63",
		"--exclude", "0", "--exclude-risk-group", "70,4294967295", "--without-link", "l1", "--without-router", "p9", "--apart-from", "c0",
	})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := &circuitsv1.Terms{
		Project: "astro", From: "pe1", To: "pe2", RateBitsPerSecond: 1e6, OnFailure: circuitsv1.OnFailure_ON_FAILURE_RESTORE, Priority: proto.Int32(7),
		Metric: circuitsv1.Metric_METRIC_DELAY, MaxDelayMicroseconds: 12_000, MaxHops: 4, Via: []string{"p3", "p1", "p2"}, IncludeAny: []int32{1, 2},
		IncludeAll: []int32{63}, Exclude: []int32{0}, WithoutLinks: []string{"l1"}, WithoutRouters: []string{"p9"}, ApartFrom: []string{"c0"},
		ExcludeRiskGroups: []uint32{70, 4294967295}, MaxSids: 3,
	}
	for fields, i := (&circuitsv1.PathTerms{}).ProtoReflect().Descriptor().Fields(), 0; i < fields.Len(); i++ {
		if !want.ProtoReflect().Has(want.ProtoReflect().Descriptor().Fields().ByName(fields.Get(i).Name())) {
			t.Errorf("no flag is tried for %s", fields.Get(i).Name())
		}
	}
	if !proto.Equal(s.asked.GetTerms(), want) {
		t.Errorf("asked %v, want %v", s.asked.GetTerms(), want)
	}
}

func TestARefusalSaysWhatWouldMakeAPath(t *testing.T) {
	terms := &circuitsv1.Terms{RateBitsPerSecond: 1e9, Start: night, MaxHops: 3, Via: []string{"p1"}, Exclude: []int32{4}, MaxSids: 2}
	var out bytes.Buffer
	printRefusal(&out, &circuitsv1.Refusal{
		Code: "HOPS", Reason: "none is short enough",
		Relaxations: []*circuitsv1.Relaxation{
			{Field: "rate_bits_per_second", By: 2e9, Links: []string{"l1", "l2"}}, {Field: "max_delay_microseconds", By: 50},
			{Field: "max_delay_microseconds", Links: []string{"l1"}}, {Field: "max_hops", By: 2}, {Field: "affinities", Links: []string{"l3"}},
			{Field: "via", Routers: []string{"10.0.0.9"}}, {Field: "without_routers", Routers: []string{"10.0.0.8"}}, {Field: "apart_from", Links: []string{"l4"}},
			{Field: "exclude_risk_groups", RiskGroups: []uint32{7, 9}}, {Field: "max_sids", By: 1}, {Field: "max_sids"},
		},
		Offers: []*circuitsv1.Offer{{Kind: "MORE_HOPS", Terms: terms}, {Kind: "MORE_SIDS", Terms: terms}, {Kind: "NOT_VIA", Terms: terms}, {Kind: "OTHER_GROUPS", Terms: terms}},
	})
	when := " from " + clock(night) + " to open"
	want := `HOPS: none is short enough
  would make a path: 2000 Mbit/s less, which is free on l1, l2
  would make a path: 50 µs more
  would make a path: if the delay of l1 were known
  would make a path: links: 2 more
  would make a path: whatever the groups of l3
  would make a path: not via 10.0.0.9
  would make a path: 10.0.0.8 allowed (without_routers)
  would make a path: l4 allowed (apart_from)
  would make a path: over links of risk group 7, 9
  would make a path: segments: 1 more
  would make a path: if its routers had SIDs that pin it
  more links fits: 1000 Mbit/s` + when + `, 3 links at most
  more segments fits: 1000 Mbit/s` + when + `, 2 segments at most
  fewer loose hops fits: 1000 Mbit/s` + when + `, via p1
  links of other groups fits: 1000 Mbit/s` + when + `, groups: any of [], all of [], none of [4]
`
	if out.String() != want {
		t.Errorf("it says\n%s\nwant\n%s", &out, want)
	}
}

func TestARiskGroupHas32Bits(t *testing.T) {
	cmd := root()
	cmd.SetArgs([]string{"circuits", "request", "pe1", "pe2", "--project", "astro", "--by", "ann", "--rate", "1", "--exclude-risk-group", "4294967296"})
	if err := cmd.ExecuteContext(t.Context()); exitCode(err) != exitUsage {
		t.Errorf("4294967296: %v", err)
	}
}

// A change of one thing keeps all else that a circuit wants of its path, and --any-path keeps nothing.
func TestAChangeOfThePathKeepsWhatItDoesNotName(t *testing.T) {
	terms := &circuitsv1.Terms{
		Metric: circuitsv1.Metric_METRIC_TE, MaxDelayMicroseconds: 1, MaxHops: 2, MaxSids: 3, Via: []string{"p1"}, IncludeAny: []int32{1}, IncludeAll: []int32{2},
		Exclude: []int32{3}, ExcludeRiskGroups: []uint32{4}, WithoutLinks: []string{"l1"}, WithoutRouters: []string{"p9"}, ApartFrom: []string{"c0"},
	}
	change := func(args ...string) *circuitsv1.PathTerms {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		var w pathChange
		w.add(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		p, err := w.of(terms)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	is, other := change("--via", "p2"), change("--via", "p2", "--any-path")
	for fields, i := is.ProtoReflect().Descriptor().Fields(), 0; i < fields.Len(); i++ {
		f, name := fields.Get(i), fields.Get(i).Name()
		had := terms.ProtoReflect().Descriptor().Fields().ByName(name)
		kept := is.ProtoReflect().Has(f) && (name == "via" || is.ProtoReflect().Get(f).Equal(terms.ProtoReflect().Get(had)))
		if !kept || other.ProtoReflect().Has(f) != (name == "via") {
			t.Errorf("%s is %v, and with --any-path %v; it was %v", name, is.ProtoReflect().Get(f), other.ProtoReflect().Get(f), terms.ProtoReflect().Get(had))
		}
	}
	if is.GetVia()[0] != "p2" || change() != nil {
		t.Errorf("via %v; without a flag: %v", is.GetVia(), change())
	}
}
