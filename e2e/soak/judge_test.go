package soak

import (
	"context"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/e2e/plane"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// judge holds what is left against what was promised.
func (w *world) judge(t *testing.T) {
	t.Helper()
	w.judgeFlows(t)
	w.judgePairs(t)
	w.judgeRecords(t)
	w.judgeWeights(t)
	w.judgeAttempts(t)
	if span := time.Since(w.begin); span >= judgedFrom {
		for _, r := range w.growth() {
			if !r.holds {
				t.Errorf("%s of %s grow by %.3g ± %.2g per minute in %d lives; want one life at least, and no more than %.3g", r.What, r.Process, r.Slope, r.Sigma, r.Lives, r.bound)
			}
		}
	}
}

// judgeFlows fails unless every accepted flow is stored once, and no other.
func (w *world) judgeFlows(t *testing.T) {
	t.Helper()
	var got map[pair]sum
	w.await(t, "every flow that was taken is stored", func() (all bool) {
		flows, err := uint64(0), error(nil)
		got, flows, err = w.stored(t.Context())
		return err == nil && flows >= w.truth.count()
	})
	if d := gocmp.Diff(got, w.truth.pairs, gocmp.AllowUnexported(sum{})); d != "" {
		t.Errorf("flows in the store (-got +taken):\n%s", d)
	}
}

// judgePairs makes one more nightly run and fails unless it has the pairs of all alpha flows that have not
// aged out.
func (w *world) judgePairs(t *testing.T) {
	t.Helper()
	from := time.Now()
	w.await(t, "a nightly run after everything", func() bool {
		_, err := w.nightly(t.Context())
		return err == nil
	})
	to := time.Now()
	w.settle(t.Context())
	r, err := w.alpha.List(t.Context(), connect.NewRequest(&alphav1.ListRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	has := map[pair]bool{}
	for _, p := range r.Msg.GetPairs() {
		k := pair{p.GetSrc(), p.GetDst()}
		if end, known := w.truth.huge[k]; !known || end.Before(from.Add(-ageAfter)) {
			t.Errorf("%s is in force, and its flow ended at %s (known: %t)", k, end, known)
		}
		has[k] = true
	}
	for k, end := range w.truth.huge {
		if end.After(to.Add(-ageAfter)) && !has[k] {
			t.Errorf("%s, whose flow ended at %s, is not in force", k, end)
		}
	}
}

// ageAfter is alpha's in the settings.
const ageAfter = 10 * time.Minute

// judgeRecords fails unless every comparison of a router with the records held, and each request made one
// change set.
func (w *world) judgeRecords(t *testing.T) {
	t.Helper()
	for _, wrong := range w.book.Wrong {
		t.Error(wrong)
	}
	all, err := w.list(t.Context(), math.MaxUint32)
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]int{}
	for _, cs := range all {
		if !cs.GetNightly() {
			titles[cs.GetTitle()]++
		}
		if !plane.Ended(cs) {
			t.Errorf("%s is still %s", cs.GetId(), plane.Word(cs.GetState()))
		}
	}
	for title, n := range titles {
		if n > 1 {
			t.Errorf("%q was requested once, and there are %d change sets", title, n)
		}
	}
}

// judgeWeights fails unless the history has every change that was answered once, and none twice.
func (w *world) judgeWeights(t *testing.T) {
	t.Helper()
	r, err := w.vpn.History(t.Context(), connect.NewRequest(&vpnv1.HistoryRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, c := range r.Msg.GetChanges() {
		times[c.GetReason()]++
	}
	for reason, answered := range w.truth.weights {
		if n := times[reason]; n > 1 || answered && n == 0 {
			t.Errorf("%s is %d times in the history (answered: %t)", reason, n, answered)
		}
	}
	w.await(t, "every PE has the weights in force", func() bool { return w.spread(context.WithoutCancel(t.Context())) })
}

// judgeAttempts: what fails is beside a fault, and most succeed. In a run of three faults that would tell how long
// services take to start, because what is refused is tried again at once: there everything has succeeded after each.
func (w *world) judgeAttempts(t *testing.T) {
	t.Helper()
	for _, k := range kinds {
		succeeded, failed := w.diary.count(k)
		t.Logf("%s: %d succeeded, %d failed", k, succeeded, len(failed))
		if succeeded <= len(failed) && time.Since(w.begin) >= judgedFrom {
			t.Errorf("%s: %d succeeded and %d failed", k, succeeded, len(failed))
		}
		for _, a := range failed {
			if w.diary.beside(a) == "" {
				t.Errorf("%s failed %s after the start, with nothing broken: %s", k, a.begin.Sub(w.begin).Round(time.Second), a.err)
			}
		}
	}
}

// judgedFrom is how long a run is at least whose growth is judged: after the warm-up there are some minutes of every
// process, between its faults.
const judgedFrom = 20 * time.Minute

// warmUp is left out of every life of a process, in minutes.
const warmUp = 3

// grown is a series, its fitted line, and the growth allowed.
type grown struct {
	plane.Series
	plane.Line
	bound float64
	holds bool
}

// bounds per minute, which is per nightly run, by quantity. What every one leaves behind of one goroutine or descriptor
// grows by one, so half of one separates a leak from none. Memory: one of them stands for a day of a network, and a
// process may live for a year, 365 runs; at 1 MiB a run it would have 365 MiB more, which a host of 4 GiB bears.
// Descriptors of the flow store are connections to Kafka, which come and go thirty at a time, and three for each thread
// of the engine in it: internal/store bounds how many of those are kept without work.
var bounds = map[string]float64{plane.Goroutines: 0.5, plane.Descriptors: 0.5, plane.Resident: 1 << 20}

// judged are the series of a run, also those of a process that was never read.
func judged() (all []plane.Series) {
	for _, what := range slices.Sorted(maps.Keys(bounds)) {
		for _, service := range slices.Sorted(slices.Values(services)) {
			all = append(all, plane.Series{Process: service, What: what})
		}
	}
	return append(all, plane.Series{Process: "etcd", What: database})
}

// growth fits every series. It fails where growth above the bound is certain: by two standard errors; and where no
// life was long enough to tell.
func (w *world) growth() (out []grown) {
	for _, s := range judged() {
		g := grown{Series: s, Line: plane.Fit(w.meters.Lives(s), warmUp), bound: bounds[s.What]}
		if s.What == database {
			g.bound = w.recordsPerMinute()
		}
		g.holds = g.Lives > 0 && g.Slope-2*g.Sigma <= g.bound
		out = append(out, g)
	}
	return out
}

// recordsPerMinute is how much of a run etcd keeps by the reference pages: a record of every change set
// with its history, the plans of those that keep them, and changes of weights; with the index, and the
// versions between two compactions, four times their size.
func (w *world) recordsPerMinute() float64 {
	const kept = 4
	return kept * float64(w.book.Octets) / math.Max(1, time.Since(w.begin).Minutes())
}
