package scitags

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// The label's bits as scitags/flowd-go sets them (backends/marker/utils.go, genFlowTag), from the highest:
// entropy 2, community 9 reversed, entropy 1, activity 6, entropy 2.
func TestLabels(t *testing.T) {
	for _, c := range []struct {
		label uint32
		tag   Tag
	}{
		{0, Tag{}},
		{0b00_100000000_0_000001_00, Tag{1, 1}},
		{0b11_010000000_1_010000_11, Tag{2, 16}}, // atlas, Production Output
		{0b00_110000000_0_001100_00, Tag{3, 12}}, // cms, Production Input
		{0b01_000000001_0_111111_10, Tag{256, 63}},
		{0b10_111111111_1_000000_01, Tag{511, 0}},
		{0b11_000000000_1_000000_11, Tag{}}, // nothing but entropy
	} {
		if got := OfLabel(c.label); got != c.tag {
			t.Errorf("label %020b is %+v, want %+v", c.label, got, c.tag)
		}
		if got := c.tag.Label(c.label); got != c.label {
			t.Errorf("%+v with the entropy of %020b is %020b", c.tag, c.label, got)
		}
	}
}

func TestEveryTagHasItsLabel(t *testing.T) {
	seen := map[uint32]bool{}
	for community := range uint16(MaxCommunity + 1) {
		for activity := range uint8(MaxActivity + 1) {
			tag := Tag{community, activity}
			for _, entropy := range []uint32{0, 0xfffff, 0xffffffff} {
				label := tag.Label(entropy)
				if got := OfLabel(label); got != tag || label > 0xfffff {
					t.Fatalf("%+v became %#x and %+v", tag, label, got)
				}
			}
			seen[tag.Label(0)] = true
		}
	}
	if len(seen) != (MaxCommunity+1)*(MaxActivity+1) {
		t.Errorf("%d labels", len(seen))
	}
}

const (
	flow    = `"flow-id": {"afi": "ipv4", "src-ip": "192.0.2.1", "dst-ip": "198.51.100.7", "protocol": "tcp", "src-port": 1094, "dst-port": 40000}`
	context = `"context": {"experiment-id": 2, "activity-id": 16, "application": "xrootd/v5.6"}`
	began   = `"flow-lifecycle": {"state": "start", "start-time": "2026-11-29T08:00:00.5+00:00"}`
)

func datagram(parts ...string) string {
	return `{"version": 1, ` + strings.Join(parts, ", ") + `}`
}

func TestFireflies(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		name, in string
		want     Firefly
	}{
		{"bare", datagram(flow, context, began), Firefly{Start: at("2026-11-29T08:00:00.5Z"), Until: at("2026-11-29T08:00:00.5Z")}},
		{"behind a syslog header", "<134>1 2026-11-29T08:00:00.9+00:00 host flowd - firefly-json - " + datagram(flow, context, began), Firefly{Start: at("2026-11-29T08:00:00.5Z"), Until: at("2026-11-29T08:00:00.5Z")}},
		{
			"its current time a little before its start, and the end of another flow, as flowd has them",
			datagram(flow, context, `"flow-lifecycle": {"state": "start", "current-time": "2026-11-29T08:00:00.1+00:00", "start-time": "2026-11-29T08:00:00.2+00:00", "end-time": "nonsense"}`),
			Firefly{Start: at("2026-11-29T08:00:00.2Z"), Until: at("2026-11-29T08:00:00.2Z")},
		},
		{
			"one that goes on", datagram(flow, context, `"flow-lifecycle": {"state": "ongoing", "start-time": "2026-11-29T07:00:00+00:00", "current-time": "2026-11-29T10:00:00+02:00"}`),
			Firefly{Start: at("2026-11-29T07:00:00Z"), Until: at("2026-11-29T08:00:00Z")},
		},
		{
			"an end without its start, as flowd has it", datagram(flow, context, `"flow-lifecycle": {"state": "end", "start-time": null, "end-time": "2026-11-29T08:10:00Z"}`),
			Firefly{Start: at("2026-11-29T08:10:00Z"), Until: at("2026-11-29T08:10:00Z"), Ended: true},
		},
		{
			"and as flowd-go does, in capitals, with a NUL behind it", datagram(flow, context, `"flow-lifecycle": {"state": "END", "start-time": "", "end-time": "2026-11-29T08:10:00Z"}`) + "\x00",
			Firefly{Start: at("2026-11-29T08:10:00Z"), Until: at("2026-11-29T08:10:00Z"), Ended: true},
		},
		{
			"an end, without a zone, and with members that we do not know",
			datagram(flow, context, `"flow-lifecycle": {"state": "end", "start-time": "2026-11-29T08:00:00", "end-time": "2026-11-29T08:10:00.25"}`, `"usage": {"sent": 5, "received": 6}`, `"netlink": {"rtt": [1]}`),
			Firefly{Start: at("2026-11-29T08:00:00Z"), Until: at("2026-11-29T08:10:00.25Z"), Ended: true},
		},
	} {
		got, err := ParseFirefly([]byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got.Src.String() != "192.0.2.1:1094" || got.Dst.String() != "198.51.100.7:40000" || got.Protocol != 6 || got.Tag != (Tag{2, 16}) || got.Application != "xrootd/v5.6" {
			t.Errorf("%s: %+v", c.name, got)
		}
		if !got.Start.Equal(c.want.Start) || !got.Until.Equal(c.want.Until) || got.Ended != c.want.Ended {
			t.Errorf("%s: %v to %v, ended %v; want %v to %v, %v", c.name, got.Start, got.Until, got.Ended, c.want.Start, c.want.Until, c.want.Ended)
		}
	}
}

func TestTheSmallestAndTheLargestIds(t *testing.T) {
	for _, want := range []Tag{{1, 0}, {MaxCommunity, MaxActivity}} {
		ids := fmt.Sprintf(`"context": {"experiment-id": %d, "activity-id": %d}`, want.Community, want.Activity)
		if f, err := ParseFirefly([]byte(datagram(flow, ids, began))); err != nil || f.Tag != want {
			t.Errorf("%s: %+v, %v", ids, f.Tag, err)
		}
		registry := fmt.Sprintf(`{"version": 1, "experiments": [{"expName": "e", "expId": %d, "activities": [{"activityName": "a", "activityId": %d}]}]}`, want.Community, want.Activity)
		if r, err := ParseRegistry([]byte(registry)); err != nil || r.Community(want) != "e" || r.Activity(want) != "a" {
			t.Errorf("%s: %v", registry, err)
		}
	}
}

func TestWhatIsNoFirefly(t *testing.T) {
	replace := func(old, with string) string {
		in := datagram(flow, context, began)
		if !strings.Contains(in, old) {
			t.Fatalf("%q is not there", old)
		}
		return strings.Replace(in, old, with, 1)
	}
	for _, c := range []struct {
		name, in string
		want     error
	}{
		{"nothing", "", ErrSyntax},
		{"no JSON", "hello", ErrSyntax},
		{"cut off", datagram(flow, context, began)[:100], ErrSyntax},
		{"another version", replace(`"version": 1`, `"version": 2`), ErrSyntax},
		{"another state", replace(`"start",`, `"paused",`), ErrSyntax},
		{"no state", datagram(flow, context), ErrSyntax},
		{"no flow", datagram(context, began), ErrFlow},
		{"no address", replace("192.0.2.1", "host"), ErrFlow},
		{"no address of the other end", replace("198.51.100.7", "host"), ErrFlow},
		{"no port of the other end", replace("40000", "0"), ErrFlow},
		{"two families", replace("192.0.2.1", "2001:db8::1"), ErrFlow},
		{"no port", replace("1094", "0"), ErrFlow},
		{"a port too large", replace("1094", "65536"), ErrSyntax},
		{"another protocol", replace(`"tcp"`, `"icmp"`), ErrFlow},
		{"no tag", datagram(flow, began), ErrTag},
		{"a community too large", replace(`"experiment-id": 2`, `"experiment-id": 512`), ErrTag},
		{"a negative one", replace(`"experiment-id": 2`, `"experiment-id": -2`), ErrTag},
		{"an activity too large", replace(`"activity-id": 16`, `"activity-id": 64`), ErrTag},
		{"no time", replace("2026-11-29T08:00:00.5+00:00", "yesterday"), ErrTime},
		{"one that goes on, without its start, as flowd sends it", datagram(flow, context, `"flow-lifecycle": {"state": "ongoing", "current-time": "2026-11-29T10:00:00Z"}`), ErrStart},
		{"an end without one", replace(`"start",`, `"end",`), ErrTime},
		{"an end before the start", datagram(flow, context, `"flow-lifecycle": {"state": "end", "start-time": "2026-11-29T08:00:01Z", "end-time": "2026-11-29T08:00:00Z"}`), ErrTime},
	} {
		if f, err := ParseFirefly([]byte(c.in)); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v; want %v", c.name, f, err, c.want)
		}
	}
}

// An application's name comes from strangers and stands in tables.
func TestApplicationsAreCutAndPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"grid-ftp v9":                     "grid-ftp v9",
		"a\\u001b[31mb\\n\\u0000":         "a[31mb",
		strings.Repeat("x", 100):          strings.Repeat("x", 64),
		strings.Repeat("x", 63) + "éé":    strings.Repeat("x", 63),
		"\\ud800" + "half of a surrogate": "half of a surrogate",
	} {
		f, err := ParseFirefly([]byte(strings.Replace(datagram(flow, context, began), "xrootd/v5.6", in, 1)))
		if err != nil || f.Application != want {
			t.Errorf("%q became %q, %v; want %q", in, f.Application, err, want)
		}
	}
}

func TestRegistry(t *testing.T) {
	r, err := ParseRegistry([]byte(`{"experiments": [
		{"expName": "default", "expId": 1, "activities": [{"activityName": "default", "activityId": 1}]},
		{"expName": "atlas", "expId": 2, "activities": [{"activityName": "Production Output", "activityId": 16}]}], "version": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[Tag][2]string{
		{2, 16}: {"atlas", "Production Output"}, {2, 17}: {"atlas", "17"}, {9, 1}: {"9", "1"},
	} {
		if got := [2]string{r.Community(tag), r.Activity(tag)}; got != want {
			t.Errorf("%+v is %q, want %q", tag, got, want)
		}
	}
	if got := (&Registry{}).Community(Tag{2, 16}); got != "2" {
		t.Errorf("without a registry: %q", got)
	}
	for name, in := range map[string]string{
		"no JSON":             "<html>",
		"nothing":             `{"version": 1, "experiments": []}`,
		"another version":     `{"version": 2, "experiments": [{"expName": "a", "expId": 1}]}`,
		"no id":               `{"version": 1, "experiments": [{"expName": "a"}]}`,
		"no name":             `{"version": 1, "experiments": [{"expId": 1}]}`,
		"one id for two":      `{"version": 1, "experiments": [{"expName": "a", "expId": 1}, {"expName": "b", "expId": 1}]}`,
		"an id too large":     `{"version": 1, "experiments": [{"expName": "a", "expId": 512}]}`,
		"an activity too far": `{"version": 1, "experiments": [{"expName": "a", "expId": 1, "activities": [{"activityName": "x", "activityId": 64}]}]}`,
	} {
		if _, err := ParseRegistry([]byte(in)); err == nil || !strings.HasPrefix(err.Error(), "registry of SciTags: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzFirefly(f *testing.F) {
	f.Add([]byte(datagram(flow, context, began)))
	f.Add([]byte("<134>1 - - - - - - " + datagram(flow, context, `"flow-lifecycle": {"state": "end", "start-time": "2026-11-29T08:00:00", "end-time": "2026-11-29T08:10:00"}`)))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := ParseFirefly(in)
		if err != nil {
			return
		}
		if got.Tag.Community == 0 || got.Protocol == 0 || got.Src.Port() == 0 || !got.Dst.Addr().IsValid() || len(got.Application) > maxApplication || got.Start.IsZero() || got.Until.Before(got.Start) {
			t.Errorf("%q is %+v", in, got)
		}
	})
}
