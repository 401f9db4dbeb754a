package circuits

import (
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

func TestBadInputIsRefusedByItsField(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	many := slices.Repeat([]string{"x"}, 101)
	for name, tc := range map[string]struct {
		field  string
		change func(*circuitsv1.Terms)
	}{
		"no project":             {"project", func(t *circuitsv1.Terms) { t.Project = "" }},
		"a project of slashes":   {"project", func(t *circuitsv1.Terms) { t.Project = "a/b" }},
		"a project of umlauts":   {"project", func(t *circuitsv1.Terms) { t.Project = "käse" }},
		"no router":              {"from", func(t *circuitsv1.Terms) { t.From = "" }},
		"an unknown router":      {"to", func(t *circuitsv1.Terms) { t.To = "nowhere" }},
		"a long router":          {"to", func(t *circuitsv1.Terms) { t.To = strings.Repeat("x", 101) }},
		"one router":             {"to", func(t *circuitsv1.Terms) { t.To = "a" }},
		"no rate":                {"rate_bits_per_second", func(t *circuitsv1.Terms) { t.RateBitsPerSecond = 0 }},
		"a rate below 0":         {"rate_bits_per_second", func(t *circuitsv1.Terms) { t.RateBitsPerSecond = -1 }},
		"a rate beyond all":      {"rate_bits_per_second", func(t *circuitsv1.Terms) { t.RateBitsPerSecond = 1<<63 - 1 }},
		"a volume below 0":       {"volume_bytes", func(t *circuitsv1.Terms) { t.VolumeBytes = -1 }},
		"a volume without end":   {"end", func(t *circuitsv1.Terms) { t.VolumeBytes, t.End = 1, nil }},
		"an end before start":    {"end", func(t *circuitsv1.Terms) { t.End = timestamppb.New(noon) }},
		"a start in the past":    {"start", func(t *circuitsv1.Terms) { t.Start = timestamppb.New(noon.Add(-time.Hour)) }},
		"a start in year 0":      {"start", func(t *circuitsv1.Terms) { t.Start = &timestamppb.Timestamp{Seconds: -1 << 62} }},
		"half a second":          {"start", func(t *circuitsv1.Terms) { t.Start.Nanos = 5e8 }},
		"an unknown protection":  {"protection", func(t *circuitsv1.Terms) { t.Protection = 9 }},
		"a volume with a backup": {"protection", func(t *circuitsv1.Terms) { t.VolumeBytes, t.Protection = 1, 1 }},
		"a delay below 0":        {"max_delay_microseconds", func(t *circuitsv1.Terms) { t.MaxDelayMicroseconds = -1 }},
		"an unknown link":        {"without_links", func(t *circuitsv1.Terms) { t.WithoutLinks = []string{"x"} }},
		"many links":             {"without_links", func(t *circuitsv1.Terms) { t.WithoutLinks = many }},
		"an unknown circuit":     {"apart_from", func(t *circuitsv1.Terms) { t.ApartFrom = []string{"x"} }},
		"an unknown detour":      {"without_routers", func(t *circuitsv1.Terms) { t.WithoutRouters = []string{"x"} }},
		"a long description":     {"description", func(t *circuitsv1.Terms) { t.Description = strings.Repeat("ä", 501) }},
		"a prefix of no network": {"pairs", func(t *circuitsv1.Terms) {
			t.Pairs = []*circuitsv1.PrefixPair{{Source: "10.0.0.1/24", Destination: "10.1.0.0/24"}}
		}},
		"ports of no protocol": {"pairs", func(t *circuitsv1.Terms) {
			t.Pairs = []*circuitsv1.PrefixPair{{Source: "10.0.0.0/24", Destination: "10.1.0.0/24", DestinationPorts: "5001"}}
		}},
		"prefixes of two families": {"pairs", func(t *circuitsv1.Terms) {
			t.Pairs = []*circuitsv1.PrefixPair{{Source: "10.0.0.0/24", Destination: "2001:db8::/64"}}
		}},
	} {
		terms := w.terms("a", "b", 1)
		tc.change(terms)
		_, err := w.request(c, "r", terms, false)
		if no := refusalIn(err); connect.CodeOf(err) != connect.CodeInvalidArgument || no.GetField() != tc.field {
			t.Errorf("%s: %v, field %q; want %q", name, err, no.GetField(), tc.field)
		}
	}
	for _, id := range []string{"", strings.Repeat("x", 65), "a/b", "ü"} {
		if _, err := w.request(c, id, w.terms("a", "b", 1), false); refusalIn(err).GetField() != "request_id" {
			t.Errorf("request id %q: %v", id, err)
		}
	}
}
