package alpha

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// bookings is services/circuits as a test scripts it: one circuit on each page, and away after so many.
type bookings struct {
	circuitsv1connect.UnimplementedCircuitsServiceHandler

	mu    sync.Mutex
	list  []*circuitsv1.Circuit
	down  bool
	pages int
	asked *circuitsv1.ListRequest
}

func (b *bookings) List(_ context.Context, req *connect.Request[circuitsv1.ListRequest]) (*connect.Response[circuitsv1.ListResponse], error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = req.Msg
	at, _ := strconv.Atoi(req.Msg.GetPageToken())
	if b.down && at >= b.pages {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("nobody is there"))
	}
	out := &circuitsv1.ListResponse{}
	if at < len(b.list) {
		out.Circuits = b.list[at : at+1]
	}
	if at+1 < len(b.list) {
		out.NextPageToken = strconv.Itoa(at + 1)
	}
	return connect.NewResponse(out), nil
}

// booked is a circuit of router wr that was in these states, a minute each, from a minute before noon on.
func booked(id, from, src, dst string, states ...circuitsv1.State) *circuitsv1.Circuit {
	m := &circuitsv1.Circuit{
		Id: id, Terms: &circuitsv1.Terms{From: from, Pairs: []*circuitsv1.PrefixPair{{Source: src, Destination: dst}}},
		Path: []*circuitsv1.Hop{{Link: "l", From: "198.51.100.1", To: "198.51.100.2"}},
	}
	for i, s := range states {
		m.History = append(m.History, &circuitsv1.Transition{State: s, Time: timestamppb.New(noon.Add(time.Duration(i-1) * time.Minute))})
	}
	return m
}

const (
	scheduled    = circuitsv1.State_STATE_SCHEDULED
	provisioning = circuitsv1.State_STATE_PROVISIONING
	active       = circuitsv1.State_STATE_ACTIVE
	interrupted  = circuitsv1.State_STATE_INTERRUPTED
	releasing    = circuitsv1.State_STATE_RELEASING
	released     = circuitsv1.State_STATE_RELEASED
)

func inCircuits(out *alphav1.NightlyResponse) (got []string) {
	for _, in := range out.GetInCircuits() {
		p := in.GetPair()
		got = append(got, fmt.Sprintf("%s: %s %s %s, %d flows", in.GetCircuit(), p.GetExporter(), p.GetSrc(), p.GetDst(), len(p.GetEvidence())))
	}
	return got
}

func TestATransferWithinItsCircuitIsNoPair(t *testing.T) {
	r := newRig(t, nil)
	r.bookings.list = []*circuitsv1.Circuit{
		booked("c1", "wr", "10.9.0.0/24", "10.2.0.0/24", scheduled, active),
		booked("c2", "wr", "10.1.0.5/32", "10.2.0.0/24", scheduled, provisioning, active, released),
	}
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 5_234_567_890)
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon.Add(time.Minute), 2e9)
	out := r.nightly(t, nightlyRun())
	if diff := cmp.Diff(inCircuits(out), []string{"c2: 192.0.2.1 10.1.0.0/24 10.2.0.0/24, 2 flows"}); diff != "" {
		t.Errorf("within circuits (-got +want):\n%s", diff)
	}
	if len(out.GetAdded()) != 0 || out.GetChangeId() != "" || len(r.created) != 0 || len(r.list(t)) != 0 || len(out.GetWarnings()) != 0 {
		t.Errorf("added %v, change sets %v, stored %v, warnings %v; want none", endsOf(out.GetAdded()), r.created, r.list(t), out.GetWarnings())
	}
	r.heard(t, "pair-in-circuit")
	r.heard(t, "nightly-done")
	if want := "10.1.0.0/24 to 10.2.0.0/24 sent 5.23GB in the 60 s after 2026-11-20 12:00:00 UTC (threshold 1GB), within circuit c2."; !slices.Contains(r.told(), want) {
		t.Errorf("told %q, want %q", r.told(), want)
	}
	// All that had capacity booked in the window are queried, in any state.
	if a := r.bookings.asked; len(a.GetStates()) != 0 || a.GetStart().AsTime().After(noon.Add(-12*time.Hour)) || a.GetEnd().AsTime().Before(r.now) {
		t.Errorf("asked for %v", a)
	}
}

func TestWhatNoCircuitHasIsAPair(t *testing.T) {
	for _, c := range []struct {
		name string
		m    *circuitsv1.Circuit
	}{
		{"booked, and put on no router", booked("c", "wr", "10.1.0.0/24", "10.2.0.0/24", scheduled, scheduled, circuitsv1.State_STATE_LAPSED)},
		{"over by then", booked("c", "wr", "10.1.0.0/24", "10.2.0.0/24", active, releasing, released)},
		{"other traffic", booked("c", "wr", "10.1.0.6/32", "10.2.0.0/24", scheduled, active)},
		{"traffic that nobody can read", booked("c", "wr", "here", "there", scheduled, active)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.bookings.list = []*circuitsv1.Circuit{c.m}
			r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
			out := r.nightly(t, nightlyRun())
			if len(out.GetAdded()) != 1 || len(out.GetInCircuits()) != 0 || len(r.created) != 1 {
				t.Errorf("added %v, within circuits %v, change sets %d; want 1, none, 1", endsOf(out.GetAdded()), inCircuits(out), len(r.created))
			}
		})
	}
}

// TestTheIngressRouterOfACircuit: only there does the circuit steer anything.
func TestTheIngressRouterOfACircuit(t *testing.T) {
	for _, c := range []struct {
		name, from, hop, exporter string
		within                    bool
	}{
		{"by its name", "wr", "", wr, true},
		{"by its loopback", "198.51.100.1", "", wr, true},
		{"by the router id of its path", "west", "198.51.100.1", wr, true},
		{"another router", "er", "198.51.100.2", wr, false},
		{"an exporter of no device", "wr", "198.51.100.1", "192.0.2.99", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, nil)
			m := booked("c", c.from, "10.1.0.0/24", "10.2.0.0/24", scheduled, active)
			if m.Path[0].From = c.hop; c.hop == "" {
				m.Path = nil
			}
			r.bookings.list = []*circuitsv1.Circuit{m}
			r.flow(c.exporter, "10.1.0.5", "10.2.0.9", noon, 2e9)
			if out := r.nightly(t, nightlyRun()); len(out.GetInCircuits()) == 1 != c.within || len(out.GetAdded()) == 1 == c.within {
				t.Errorf("within circuits %v, added %v", inCircuits(out), endsOf(out.GetAdded()))
			}
		})
	}
}

// TestAKnownPairStays: what arrives within a circuit is no evidence for it, keeps it as any flow does, and removes
// nothing.
func TestAKnownPairStays(t *testing.T) {
	r := newRig(t, nil)
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.nightly(t, nightlyRun())
	r.bookings.list = []*circuitsv1.Circuit{booked("c", "wr", "10.1.0.0/24", "10.2.0.0/24", scheduled, scheduled, active, interrupted)}
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon.Add(time.Hour), 2e9)
	out := r.nightly(t, nightlyRun())
	if len(out.GetRefreshed())+len(out.GetAgedOut()) != 0 || len(inCircuits(out)) != 1 || len(r.list(t)) != 1 || len(r.list(t)[0].GetEvidence()) != 1 {
		t.Errorf("refreshed %v, aged out %v, within circuits %v, left %v", endsOf(out.GetRefreshed()), endsOf(out.GetAgedOut()), inCircuits(out), r.list(t))
	}
}

// TestWithoutCircuitsAllFlowsAreJudged: half a list is none.
func TestWithoutCircuitsAllFlowsAreJudged(t *testing.T) {
	for pages := range 2 {
		r := newRig(t, nil)
		r.bookings.list = []*circuitsv1.Circuit{booked("c1", "wr", "10.1.0.0/24", "10.2.0.0/24", active), booked("c2", "wr", "10.3.0.0/24", "10.2.0.0/24", active)}
		r.bookings.down, r.bookings.pages = true, pages
		r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
		out := r.nightly(t, nightlyRun())
		if len(out.GetAdded()) != 1 || len(out.GetInCircuits()) != 0 || len(r.created) != 1 {
			t.Errorf("added %v, within circuits %v, change sets %d; want 1, none, 1", endsOf(out.GetAdded()), inCircuits(out), len(r.created))
		}
		if w := out.GetWarnings(); len(w) != 1 || !strings.HasPrefix(w[0], "services/circuits did not say") || !strings.Contains(w[0], "nobody is there") {
			t.Errorf("warnings %q", w)
		}
		r.heard(t, "nightly-done")
		if told := r.told(); !strings.Contains(told[len(told)-1], "Attention: services/circuits did not say") {
			t.Errorf("told %q", told)
		}
	}
	r := newRig(t, nil)
	r.c.deps.Circuits = nil
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	if out := r.nightly(t, nightlyRun()); len(out.GetAdded()) != 1 || len(out.GetWarnings()) != 0 {
		t.Errorf("without the service: added %v, warnings %q", endsOf(out.GetAdded()), out.GetWarnings())
	}
}

// TestTheGateIsBeforeCircuits: flows of an exporter that the gate refuses are not reported.
func TestTheGateIsBeforeCircuits(t *testing.T) {
	r := newRig(t, nil)
	r.bookings.list = []*circuitsv1.Circuit{booked("c", "wr", "10.1.0.0/24", "10.2.0.0/24", active)}
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.hours = []*flowv1.HourQuality{exportHour(wr, noon, func(h *flowv1.HourQuality) { h.Lost = 5 })}
	if out := r.nightly(t, nightlyRun()); len(out.GetRefused()) != 1 || len(out.GetInCircuits())+len(out.GetAdded()) != 0 {
		t.Errorf("refused %v, within circuits %v, added %v", out.GetRefused(), inCircuits(out), endsOf(out.GetAdded()))
	}
}

// TestADayIsNotJudgedWithoutItsCircuits: it is judged once, and alpha flows within circuits would count for good.
func TestADayIsNotJudgedWithoutItsCircuits(t *testing.T) {
	r := newRig(t, nil)
	r.c.deps.FlowStore = silent{&counted{r.c.deps.FlowStore, map[time.Time]int{}}}
	m, _, err := r.c.judged(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m.Until = timestamppb.New(midnight(noon))
	if _, err := r.c.deps.State.Put(t.Context(), keyEffectiveness, 0, m); err != nil {
		t.Fatal(err)
	}
	r.now = midnight(noon).Add(day + 6*time.Hour)
	r.bookings.list = []*circuitsv1.Circuit{booked("c1", "wr", "10.1.0.0/24", "10.2.0.0/24", active)}
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.flow(wr, "10.1.0.5", "10.3.0.9", noon, 3e9)
	r.bookings.down = true
	if _, err := r.client.Effectiveness(t.Context(), connect.NewRequest(&alphav1.EffectivenessRequest{})); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("without services/circuits: %v, want UNAVAILABLE", err)
	}
	r.bookings.down = false
	if days := r.effectiveness(t, false); len(days) != 1 || days[0].GetAlphaBytes() != 3e9 {
		t.Errorf("judged %v, want one day with the 3 GB that no circuit had", days)
	}
}
