package circuits

import (
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// minute is the bytes that a path of the world carries in a minute.
const minute = 60 * reservable / 8

// volume is so many bytes from a to b within a minute, in TCP flows to ten ports.
func (w *world) volume(bytes int64) *circuitsv1.Terms {
	t := w.terms("a", "b", 0)
	t.VolumeBytes, t.Start, t.End = bytes, timestamppb.New(noon.Add(time.Hour)), timestamppb.New(noon.Add(time.Hour+time.Minute))
	t.Pairs = []*circuitsv1.PrefixPair{{Source: "192.0.2.0/24", Destination: "198.51.100.0/24", Protocol: "tcp", DestinationPorts: "5000-5009"}}
	return t
}

func (w *world) requestSpread(c *Component, ask *circuitsv1.RequestAllRequest) (*circuitsv1.RequestAllResponse, error) {
	ask.By, ask.Commit = "ann", true
	r, err := (&api{c}).RequestAll(w.t.Context(), connect.NewRequest(ask))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}

func TestAVolumeOverSeveralPaths(t *testing.T) {
	w := newWorld(t)
	c, other := w.start(), w.start()
	ask := func(bytes int64, dry bool) *circuitsv1.RequestAllRequest {
		return &circuitsv1.RequestAllRequest{RequestId: "v", Terms: []*circuitsv1.Terms{w.volume(bytes)}, MaxPaths: 3, DryRun: dry}
	}
	judge := func(what string, got []*circuitsv1.Circuit) {
		t.Helper()
		if len(got) != 2 || len(got[0].GetPath()) != 1 || len(got[1].GetPath()) != 2 {
			t.Fatalf("%s: %v", what, got)
		}
		for i, want := range []struct {
			bytes int64
			ports string
		}{{minute, "5000-5007"}, {minute / 4, "5008-5009"}} {
			terms := got[i].GetTerms()
			if p := terms.GetPairs()[0]; terms.GetVolumeBytes() != want.bytes || p.GetDestinationPorts() != want.ports || p.GetSourcePorts() != "" || p.GetProtocol() != "tcp" {
				t.Errorf("%s, circuit %d: %v", what, i, terms)
			}
		}
	}
	quote, err := w.requestSpread(c, ask(minute*5/4, true))
	if err != nil {
		t.Fatal(err)
	}
	judge("quoted", quote.GetCircuits())
	got, err := w.requestSpread(c, ask(minute*5/4, false))
	if err != nil {
		t.Fatal(err)
	}
	judge("booked", got.GetCircuits())
	again, err := w.requestSpread(other, ask(minute*5/4, false))
	same := func(a, b *circuitsv1.Circuit) bool { return a.GetId() == b.GetId() }
	if err != nil || !slices.EqualFunc(again.GetCircuits(), got.GetCircuits(), same) {
		t.Errorf("again, when there would be no room: %v, %v", again, err)
	}
	more := ask(minute, true)
	no, err := w.requestSpread(c, more)
	if err != nil || no.GetRefusal().GetCode() != "CAPACITY" || len(no.GetRefusal().GetOffers()) != 2 || no.GetRefusal().GetOffers()[1].GetTerms().GetVolumeBytes() != minute*3/4 {
		t.Fatalf("more than is left: %v, %v", no, err)
	}
	more.Terms, more.DryRun, more.RequestId = []*circuitsv1.Terms{no.GetRefusal().GetOffers()[1].GetTerms()}, false, "rest"
	rest, err := w.requestSpread(c, more)
	if err != nil || len(rest.GetCircuits()) != 1 || rest.GetCircuits()[0].GetTerms().GetPairs()[0].GetDestinationPorts() != "5000-5009" {
		t.Errorf("what was offered: %v, %v", rest, err)
	}
}

func TestAVolumeThatCannotBeSpread(t *testing.T) {
	w := newWorld(t)
	w.cfg.Projects["astro"] = Project{Members: []string{"ann"}, ConcurrentMbit: 5500}
	c := w.start()
	for name, tc := range map[string]struct {
		change func(*circuitsv1.RequestAllRequest)
		field  string
	}{
		"fewer than none":   {func(r *circuitsv1.RequestAllRequest) { r.MaxPaths = -1 }, "max_paths"},
		"too many":          {func(r *circuitsv1.RequestAllRequest) { r.MaxPaths = 9 }, "max_paths"},
		"two volumes":       {func(r *circuitsv1.RequestAllRequest) { r.Terms = append(r.Terms, w.volume(1)) }, "max_paths"},
		"repeated":          {func(r *circuitsv1.RequestAllRequest) { r.Repeat = &circuitsv1.Repeat{} }, "max_paths"},
		"a rate":            {func(r *circuitsv1.RequestAllRequest) { r.Terms = []*circuitsv1.Terms{w.terms("a", "b", 1)} }, "terms[0].volume_bytes"},
		"no router":         {func(r *circuitsv1.RequestAllRequest) { r.Terms[0].To = "nowhere" }, "terms[0].to"},
		"too few ports":     {func(r *circuitsv1.RequestAllRequest) { r.Terms[0].Pairs[0].DestinationPorts = "80" }, "terms[0].pairs"},
		"any ports":         {func(r *circuitsv1.RequestAllRequest) { r.Terms[0].Pairs[0].DestinationPorts = "" }, "terms[0].pairs"},
		"the quota of both": {func(*circuitsv1.RequestAllRequest) {}, "terms[0].rate_bits_per_second"},
		"fewer ports than paths, and enough: granted": {func(r *circuitsv1.RequestAllRequest) {
			r.MaxPaths, r.Terms[0].VolumeBytes, r.Terms[0].Pairs[0].DestinationPorts = 8, minute, "5000-5001"
		}, ""},
		"one more circuit": {func(r *circuitsv1.RequestAllRequest) {
			r.Terms[0].VolumeBytes, r.Terms[0].RateBitsPerSecond = minute*3/4, reservable/4
		}, "max_paths"},
		"on one path, without traffic: granted": {func(r *circuitsv1.RequestAllRequest) { r.Terms[0].Pairs, r.Terms[0].VolumeBytes = nil, minute }, ""},
	} {
		ask := &circuitsv1.RequestAllRequest{RequestId: "r", Terms: []*circuitsv1.Terms{w.volume(minute * 2)}, MaxPaths: 2, DryRun: true}
		tc.change(ask)
		got, err := w.requestSpread(c, ask)
		no := refusalIn(err)
		if got.GetRefusal() != nil {
			no = got.GetRefusal()
		}
		if no.GetField() != tc.field || tc.field == "" && err != nil {
			t.Errorf("%s: %v, field %q; want %q", name, err, no.GetField(), tc.field)
		}
	}
}

// What is in the way of the rest of a volume is maintenance that leaves each of its circuits the highest rate, and not
// two of them; below the hard cap there is room.
func TestWhatASpreadIsRefusedForAndOffered(t *testing.T) {
	w := newWorld(t)
	w.cfg.HardShare = 1000
	w.link("a-c", false)
	c := w.start()
	half := noon.Add(time.Hour + 30*time.Second)
	_, err := (&api{c}).AddMaintenance(t.Context(), connect.NewRequest(&circuitsv1.AddMaintenanceRequest{
		Id: "CHG-1", Links: []string{linkID("a", "b")}, Start: timestamppb.New(noon.Add(time.Hour)), End: timestamppb.New(half), LeftBitsPerSecond: reservable, By: "noc", Reason: "optics",
	}))
	if err != nil {
		t.Fatal(err)
	}
	ask := &circuitsv1.RequestAllRequest{RequestId: "v", Terms: []*circuitsv1.Terms{w.volume(minute)}, MaxPaths: 2, DryRun: true}
	ask.Terms[0].RateBitsPerSecond = reservable / 2
	got, err := w.requestSpread(c, ask)
	no := got.GetRefusal()
	if err != nil || no.GetCode() != "CAPACITY" || len(no.GetBlockers()) != 1 || !slices.Equal(no.GetBlockers()[0].GetMaintenance(), []string{"CHG-1"}) {
		t.Fatalf("%v, %v", no, err)
	}
	at := slices.IndexFunc(no.GetOffers(), func(o *circuitsv1.Offer) bool { return o.GetKind() == aboveSoftCap })
	if at < 0 {
		t.Fatalf("offers %v", no.GetOffers())
	}
	ask.Terms[0], ask.Commit = no.GetOffers()[at].GetTerms(), false // an operator commits it
	if held, err := (&api{c}).RequestAll(t.Context(), connect.NewRequest(ask)); err != nil || len(held.Msg.GetCircuits()) != 2 {
		t.Errorf("above the soft cap: %v, %v", held, err)
	}
}
