package year

import (
	"context"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/months"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/program"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// nightlyRun imports a day's flows, judges the day, lets the change set that is requested be approved, and compares.
func (w *world) nightlyRun(t *testing.T, n int) {
	t.Helper()
	from, to := w.date(n), w.date(n+1)
	plane.Asking(t, "the day is imported", func(ctx context.Context) error { return w.Stream(ctx, func() {}, w.batches[from]...) })
	program.Until(t, "the day is stored", func() (bool, any) {
		got, err := w.storedFlows(t, from, to)
		return err == nil && got == w.records[from], []any{got, w.records[from], err}
	})
	w.count.flows += w.records[from]
	var run *alphav1.NightlyResponse
	plane.Asking(t, "the nightly run is done", func(ctx context.Context) error {
		r, err := w.Alpha.Nightly(ctx, connect.NewRequest(&alphav1.NightlyRequest{To: timestamppb.New(to)}))
		if err == nil {
			run = r.Msg
		}
		return err
	})
	w.count.done++
	for _, r := range run.GetRefused() {
		w.count.refused++
		w.blame("day %d: exporter %s is refused: %s", n, r.GetExporter(), r.GetReason())
	}
	w.count.added, w.count.agedOut = w.count.added+len(run.GetAdded()), w.count.agedOut+len(run.GetAgedOut())
	w.Settle(t)
	w.look(t, n, run)
	w.compare(t, n, from)
}

// few is how many of the newest change sets are looked at.
const few = 20

// look enters the change set of a nightly run into the book, and holds the routers against it.
func (w *world) look(t *testing.T, n int, run *alphav1.NightlyResponse) {
	t.Helper()
	r, err := w.Work.Changes.List(t.Context(), connect.NewRequest(&pushv1.ListRequest{Limit: few}))
	if err != nil {
		t.Fatal(err)
	}
	for _, cs := range w.book.Enter(r.Msg.GetChanges()) {
		w.count.asked++
		switch cs.GetState() {
		case pushv1.State_STATE_VERIFIED:
			w.count.verified++
		case pushv1.State_STATE_EMPTY:
			w.count.empty++
		default:
			w.count.failed++
			w.blame("day %d: change set %s is %s", n, cs.GetId(), plane.Word(cs.GetState()))
		}
		if cs.GetId() != run.GetChangeId() {
			w.count.needless++
			w.blame("day %d requested %q, and there is %s", n, run.GetChangeId(), cs.GetId())
		}
	}
	for name, r := range w.Plane.Routers {
		await.True(t, name+" waits for no confirmation", func() bool { return !r.Pending() })
		w.book.Hold(name, r.Entries())
	}
}

// compare holds the pairs in force against the truth, and the day's bursts against their evidence.
func (w *world) compare(t *testing.T, n int, date time.Time) {
	t.Helper()
	has := map[months.Pair]*alphav1.Pair{}
	for _, p := range w.Pairs(t) {
		has[pairOf(p)] = p
	}
	right := len(has) == len(w.inForce[n])
	for pair := range w.inForce[n] {
		right = right && has[pair] != nil
	}
	if right {
		w.count.pairsTrue++
	} else {
		w.blame("day %d: %d pairs are in force, %d should be, or not the same", n, len(has), len(w.inForce[n]))
	}
	for _, b := range w.bursts[date] {
		w.count.alpha++
		if shows(has[months.PairOf(b.Exporter, b.Src, b.Dst, 24)], b) {
			w.count.found++
		} else {
			w.blame("day %d: the burst of %s to %s at %s is not found", n, b.Src, b.Dst, b.Start)
		}
	}
}

func pairOf(p *alphav1.Pair) months.Pair {
	return months.Pair{Exporter: netip.MustParseAddr(p.GetExporter()), Src: netip.MustParsePrefix(p.GetSrc()), Dst: netip.MustParsePrefix(p.GetDst())}
}

// maxEvidence is alpha's default: of a pair's bursts it keeps the newest.
const maxEvidence = 16

// shows reports whether a pair has the burst among its evidence, or only newer ones, or as new, because there are
// more than it keeps.
func shows(p *alphav1.Pair, b months.Burst) bool {
	all := p.GetEvidence()
	if slices.ContainsFunc(all, func(e *alphav1.Evidence) bool {
		return e.GetIntervalStart().AsTime().Equal(b.Start) && e.GetSrcAddr() == b.Src.String() && e.GetDstAddr() == b.Dst.String() &&
			e.GetSrcPort() == uint32(b.SrcPort) && e.GetBytes() == b.Bytes
	}) {
		return true
	}
	return len(all) == maxEvidence && !slices.ContainsFunc(all, func(e *alphav1.Evidence) bool { return e.GetIntervalStart().AsTime().Before(b.Start) })
}

// rule is the two prefixes of a rule in a router's configuration.
var rule = regexp.MustCompile(`"destination-address":\s*"([^"]+)",\s*"source-address":\s*"([^"]+)"`)

// rules compares those of WR with the pairs of the truth.
func (w *world) rules(n int) {
	want, got := map[[2]string]bool{}, map[[2]string]bool{}
	for p := range w.inForce[n-1] {
		if p.Src.Addr().Is4() { // the IGP carries IPv4 alone, and so does the LSP
			want[[2]string{p.Dst.String(), p.Src.String()}] = true
		}
	}
	for _, body := range w.Plane.Routers["WR"].Entries() {
		for _, m := range rule.FindAllStringSubmatch(body, -1) {
			got[[2]string{m[1], m[2]}] = true
		}
	}
	w.count.rulesSeen++
	if maps.Equal(want, got) {
		w.count.rulesTrue++
	} else {
		w.blame("after day %d WR has rules of %d pairs of IPv4, and %d are in force, or others", n, len(got), len(want))
	}
}
