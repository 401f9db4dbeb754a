package circuits

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/await"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	"github.com/millrace/millrace/services/policy"
)

func TestGuaranteeOf(t *testing.T) {
	two := []*policyv1.QueueGuarantee{{Queue: "be", Least: 20}, {Queue: "circuits", Least: 79}, {Queue: "idle"}}
	for name, c := range map[string]struct {
		answer *policyv1.GuaranteesResponse
		want   int64
		why    string
	}{
		"the queue of circuits":    {&policyv1.GuaranteesResponse{Guarantees: two, Circuits: "circuits"}, 790, ""},
		"the default one is it":    {&policyv1.GuaranteesResponse{Guarantees: two, Circuits: "be"}, 200, ""},
		"no rule for circuits":     {&policyv1.GuaranteesResponse{Guarantees: two}, 0, "policy p has no queue for circuits"},
		"a queue without a weight": {&policyv1.GuaranteesResponse{Guarantees: two, Circuits: "idle"}, 0, "queue idle of policy p guarantees circuits nothing"},
	} {
		got := guaranteeOf("p", c.answer)
		if got.thousandths != c.want || (got.why == nil) != (c.why == "") || got.why != nil && !strings.HasPrefix(got.why.Error(), c.why) {
			t.Errorf("%s: %+v, want %d, %q", name, got, c.want, c.why)
		}
	}
}

// The share that circuits may use is the smaller one of what is configured and what the policy guarantees.
func TestCapsOf(t *testing.T) {
	for name, c := range map[string]struct {
		share, hard int64
		guarantee   guarantee
		want        caps
	}{
		"no policy":                       {500, 0, guarantee{thousandths: whole}, caps{500, 500}},
		"no policy, two caps":             {500, 900, guarantee{thousandths: whole}, caps{500, 900}},
		"all of a link":                   {1000, 0, guarantee{thousandths: whole}, caps{1000, 1000}},
		"the policy guarantees more":      {500, 0, guarantee{thousandths: 800}, caps{500, 500}},
		"it guarantees as much":           {800, 0, guarantee{thousandths: 800}, caps{800, 800}},
		"it guarantees less":              {500, 0, guarantee{thousandths: 300}, caps{300, 300}},
		"it guarantees less than hard":    {500, 900, guarantee{thousandths: 800}, caps{500, 800}},
		"it guarantees less than both":    {500, 900, guarantee{thousandths: 300}, caps{300, 300}},
		"it is not known, nothing booked": {500, 900, guarantee{why: errNoGuarantee}, caps{500, 900}},
	} {
		if got := capsOf(Configuration{Share: c.share, HardShare: c.hard}, c.guarantee); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// An operator learns that nothing is booked, or less than is configured, once each time that it changes.
func TestAGuaranteeBelowTheShareIsLogged(t *testing.T) {
	none, known := guarantee{why: errors.New("no rule")}, func(n int64) guarantee { return guarantee{thousandths: n} }
	for name, c := range map[string]struct {
		was, is guarantee
		hard    int64
		want    string
	}{
		"less than the share":      {guarantee{why: errNoGuarantee}, known(499), 0, "circuits may use less"},
		"as much":                  {guarantee{why: errNoGuarantee}, known(500), 0, ""},
		"less than the hard share": {guarantee{why: errNoGuarantee}, known(800), 900, "circuits may use less"},
		"the same again":           {known(300), known(300), 0, ""},
		"even less":                {known(300), known(200), 0, "circuits may use less"},
		"nothing":                  {known(300), none, 0, "no circuit is booked"},
		"nothing again":            {none, none, 0, ""},
		"nothing is known of it":   {none, guarantee{why: errNoGuarantee}, 0, "no circuit is booked"},
	} {
		var out bytes.Buffer
		cfg := DefaultConfiguration()
		cfg.HardShare = c.hard
		one := &Component{cfg: cfg, deps: Dependencies{Log: slog.New(slog.NewTextHandler(&out, nil))}}
		one.logGuarantee(t.Context(), c.was, c.is)
		if said := out.String(); (said == "") != (c.want == "") || !strings.Contains(said, c.want) {
			t.Errorf("%s: %q, want %q", name, said, c.want)
		}
	}
}

const (
	queuesOf = `policy: %s
description: Circuits in a queue of their own
buffer_time: 100ms
ports: all
queues:
  - {name: be, id: 0, weight: %d, buffer: 20, priority: medium-low, default: true}
  - {name: circuits, id: 1, weight: %d, buffer: 80, priority: medium-high}
`
	ruleOf = `redirect:
  - {pairs: circuits, queue: circuits}
`
	alphaOf = `redirect:
  - {pairs: alpha, queue: circuits, lsp: {avoid_shortest: true}}
`
)

// policyFile replaces the one policy of a folder; no reader sees half of it.
func policyFile(t *testing.T, dir, text string) {
	t.Helper()
	file := filepath.Join(dir, "mine.yaml")
	must(t, os.WriteFile(file+".new", []byte(text), 0o600))
	must(t, os.Rename(file+".new", file))
}

// What circuits may book is what the policy's queue guarantees where that is less than circuits.share, also above the
// soft cap; what is granted to the last bit, routers get. Another weight holds from the next reading on: what was
// booked before stays, and nothing more is. A policy that keeps nothing for circuits is the answer to every request.
func TestCircuitsBookNoMoreThanThePolicyGuarantees(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keeps := func(weight int) {
		policyFile(t, dir, fmt.Sprintf(queuesOf+ruleOf, policyOfCircuits, 100-weight, weight))
	}
	keeps(30)
	of := policy.DefaultConfiguration()
	of.Dir = dir
	w := newLiveUnder(t, of)
	w.world.cfg.HardShare = 900
	replicas := []*Component{w.replica(w.changes), w.replica(w.changes)}
	c := replicas[0]
	w.queues()
	most := w.from("wr", "192.0.2.0/26", 30) // of 100
	most.MaxHops = 1
	over := proto.CloneOf(most)
	over.RateBitsPerSecond++
	for _, above := range []bool{false, true} {
		over.AboveSoftCap = above
		q, err := w.world.quote(c, over)
		must(t, err)
		no := q.GetRefusal()
		if no.GetCode() != "CAPACITY" || no.GetBlockers()[0].GetReservableBitsPerSecond() != 30*mega || offerOf(no, aboveSoftCap) != nil {
			t.Fatalf("a bit more than is guaranteed: %v", no)
		}
	}
	a := w.world.booked(c, "1", most)
	w.world.is(c, a.GetId(), activeState)

	link := a.GetPath()[0].GetLink()
	shows := func(soft, hard, free int64) {
		t.Helper()
		for _, replica := range replicas {
			await.True(t, fmt.Sprintf("the link has caps of %d and %d bit/s", soft, hard), func() bool {
				r, err := (&api{replica}).Calendar(t.Context(), connect.NewRequest(&circuitsv1.CalendarRequest{Link: link}))
				if err != nil {
					return false
				}
				l := r.Msg.GetLinks()[0]
				return l.GetReservableBitsPerSecond() == soft && l.GetHardBitsPerSecond() == hard && l.GetLeastFreeBitsPerSecond() == free
			})
		}
	}
	shows(30*mega, 30*mega, 0)
	keeps(20)
	shows(20*mega, 20*mega, -10*mega)
	less := w.from("wr", "192.0.2.64/26", 1)
	less.MaxHops = 1
	q, err := w.world.quote(c, less)
	must(t, err)
	if no := q.GetRefusal(); no.GetCode() != "CAPACITY" || no.GetBlockers()[0].GetShortfallBitsPerSecond() != 11*mega {
		t.Errorf("where more is booked than is guaranteed: %v", no)
	}
	if is := w.world.get(c, a.GetId()); is.GetState() != activeState || len(is.GetPath()) != 1 || is.GetSlots()[0].GetRateBitsPerSecond() != 30*mega {
		t.Errorf("what was booked before is %v", is)
	}
	w.measures(c, 0.7, 1)
	keeps(80)
	shows(50*mega, 80*mega, 20*mega)
	w.measures(c, 0.1, 0)

	for text, want := range map[string]string{
		fmt.Sprintf(queuesOf+alphaOf, policyOfCircuits, 20, 80): "has no queue for circuits",
		fmt.Sprintf(queuesOf+ruleOf, "another-policy", 20, 80):  `no such policy "circuits-two-queue"`,
	} {
		policyFile(t, dir, text)
		await.True(t, "nothing is booked: "+want, func() bool {
			_, err := w.world.quote(c, less)
			return connect.CodeOf(err) == connect.CodeUnavailable && strings.Contains(err.Error(), want)
		})
		if is := w.world.get(c, a.GetId()); is.GetState() != activeState {
			t.Errorf("%s: the circuit is %s", want, is.GetState())
		}
	}
	keeps(80)
	shows(50*mega, 80*mega, 20*mega)
	w.world.booked(c, "2", less)
}

// measures compares what a replica's metrics say of the share, and of links that have more booked than there is.
func (w *live) measures(c *Component, cut float64, overbooked int) {
	w.t.Helper()
	all := prometheus.NewRegistry()
	newMetrics(all, c)
	want := fmt.Sprintf(`# HELP millrace_services_circuits_overbooked_links Link directions of which more is booked within a year than there is now.
# TYPE millrace_services_circuits_overbooked_links gauge
millrace_services_circuits_overbooked_links %d
# HELP millrace_services_circuits_share_cut_ratio How much of each link circuits.share or circuits.hard_share, whichever is more, says beyond what the policy guarantees circuits; 0: nothing.
# TYPE millrace_services_circuits_share_cut_ratio gauge
millrace_services_circuits_share_cut_ratio %g
`, overbooked, cut)
	if err := testutil.GatherAndCompare(all, strings.NewReader(want), prefix+"overbooked_links", prefix+"share_cut_ratio"); err != nil {
		w.t.Error(err)
	}
}

// away is services/policy that does not answer, and then does.
type away struct {
	policyv1connect.PolicyServiceClient
	back   atomic.Bool
	missed atomic.Int32
}

// Guarantees implements PolicyServiceClient.
func (a *away) Guarantees(ctx context.Context, r *connect.Request[policyv1.GuaranteesRequest]) (*connect.Response[policyv1.GuaranteesResponse], error) {
	if !a.back.Load() {
		a.missed.Add(1)
		return nil, errCut
	}
	return a.PolicyServiceClient.Guarantees(ctx, r)
}

// Until the policy was read nothing is booked; once it was, services/policy may be away.
func TestThePolicyIsReadBeforeAnythingIsBooked(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	line := &away{PolicyServiceClient: w.plans}
	c, err := New(w.world.cfg, Dependencies{
		State: w.world.store, Bus: w.bus, Log: slog.New(slog.DiscardHandler), Changes: w.changes, Policy: line,
		Paths: pathsv1connect.NewPathsServiceClient(w.local.Client(), rpc.LocalURL),
	})
	must(t, err)
	must(t, c.Start(t.Context()))
	t.Cleanup(func() { c.Stop(context.Background()) }) //nolint:errcheck // the test ends
	ask := w.from("wr", "192.0.2.0/26", 20)
	await.True(t, "it waits for the policy", func() bool {
		_, err := w.world.quote(c, ask)
		return connect.CodeOf(err) == connect.CodeUnavailable && strings.Contains(err.Error(), "circuits.provision.policy")
	})
	line.back.Store(true)
	await.True(t, "the policy is read", func() bool { _, err := w.world.quote(c, ask); return err == nil })
	line.back.Store(false)
	missed := line.missed.Load()
	await.True(t, "it is away for a while", func() bool { return line.missed.Load() > missed+1 })
	w.world.booked(c, "1", ask)
}
