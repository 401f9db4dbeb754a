package storm

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/state"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// Where the service keeps its records (docs/reference/circuits.md).
const (
	book    = "circuits/book/"
	records = book + "records/"
)

// history is every record that was ever written, in the order of etcd: its members forget nothing.
func history(ctx context.Context, endpoints []string) (out []write, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	store, err := state.Dial(endpoints)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	entries, _, err := store.Snapshot(ctx, book)
	if err != nil {
		return nil, err
	}
	var last int64
	for _, e := range entries {
		last = max(last, e.Revision)
	}
	for batch, err := range store.Watch(ctx, book, 0) {
		if err != nil {
			return nil, err
		}
		for _, c := range batch.Changes {
			id, isRecord := strings.CutPrefix(c.Key, records)
			if !isRecord {
				continue
			}
			w := write{id: id}
			if !c.Deleted {
				w.is = &circuitsv1.Record{}
				if err := proto.Unmarshal(c.Value, w.is); err != nil {
					return nil, fmt.Errorf("decode %s: %w", c.Key, err)
				}
			}
			out = append(out, w)
		}
		if batch.Revision >= last {
			return out, nil
		}
	}
	return nil, fmt.Errorf("etcd did not tell its history: %w", ctx.Err())
}

// judge counts what came of it.
func (r *run) judge(ctx context.Context, start time.Time) error {
	var endpoints []string
	for _, p := range r.cluster.members {
		endpoints = append(endpoints, strings.TrimSuffix(p.ready, "/health"))
	}
	writes, err := history(ctx, endpoints)
	if err != nil {
		return err
	}
	most := map[string]int64{}
	for _, l := range topology(r.scenario).Links {
		most[l.ID] = int64(l.Bandwidth) / 2 // circuits.share is 500 of 1000
	}
	o := newOracle(start.Unix(), most)
	for _, w := range writes {
		o.take(w)
	}
	t := count(r.requests, r.outcomes, o.records)
	r.metric("overbooked_link_seconds", o.over+o.outside)
	r.metric("writes", len(writes))
	for name, value := range map[string]int{
		"requests": len(r.requests), "answered": t.answered, "granted": t.granted, "refused": t.refused, "released": t.released,
		"doubled": t.doubled, "lost": t.lost, "unclaimed": t.unclaimed, "unexpected": t.unexpected,
		"replicas_killed": r.killed.replicas, "leaders_killed": r.killed.leaders,
		"cut_connections": int(r.crowd.cut.Load()), "nobody_listened": int(r.crowd.dead.Load()), "unavailable": int(r.crowd.away.Load()),
	} {
		r.metric(name, value)
	}
	for _, text := range t.odd {
		r.say("  %s", text)
	}
	r.say("%d granted, %d refused, %d records written; %d connections were cut, %d found nobody, %d answers were 503",
		t.granted, t.refused, len(writes), r.crowd.cut.Load(), r.crowd.dead.Load(), r.crowd.away.Load())
	return r.askAgain(ctx)
}

// askAgain makes each granted request once more, and asks every replica for its circuit.
func (r *run) askAgain(ctx context.Context) error {
	r.say("every granted circuit is looked for at every replica")
	missing, again := 0, 0
	for n, o := range r.outcomes {
		id := o.circuit()
		if id == "" {
			continue
		}
		a, err := r.crowd.insist(ctx, r.cluster, n+1, http.MethodPost, "/v1/circuits", r.requests[n].key, r.requests[n].body)
		if err != nil {
			return err
		}
		if a.status != http.StatusCreated || a.Circuit.ID != id {
			again++
		}
		for i := range r.cluster.replicas {
			a, err := r.crowd.insistAt(ctx, r.cluster.replica(i)+"/v1/circuits/"+id)
			if err != nil {
				return err
			}
			if a.status != http.StatusOK || a.Circuit.ID != id {
				missing++
			}
		}
	}
	r.metric("not_found", missing)
	r.metric("other_answer", again)
	return nil
}

// tally is what the clients' answers and the records come to.
type tally struct {
	answered, granted, refused, released int
	// doubled requests have two circuits; lost circuits were granted and are not in etcd, or were given up and have
	// their capacity; unclaimed ones are in etcd, and no client had an answer; unexpected answers are neither a grant
	// nor a refusal for want of capacity.
	doubled, lost, unclaimed, unexpected int
	odd                                  []string
}

// refusals are the codes of one that means: not beside what is booked.
var refusals = map[string]bool{"CAPACITY": true, "NO_BACKUP": true, "WINDOW_TOO_SHORT": true}

func count(requests []request, outcomes []outcome, kept map[string]*circuitsv1.Record) tally {
	var t tally
	told := map[string]bool{}
	for n, o := range outcomes {
		key := requests[n].key
		ids := map[string]bool{}
		for _, a := range o.answers {
			switch {
			case a.status == http.StatusCreated:
				ids[a.Circuit.ID], told[a.Circuit.ID] = true, true
			case a.status != http.StatusConflict || !refusals[a.Code]:
				t.unexpected++
				t.odd = append(t.odd, fmt.Sprintf("%s is answered with %d %s", key, a.status, a.Code))
			}
		}
		if len(ids) > 1 {
			t.doubled++
		}
		switch {
		case o.err != nil:
			t.odd = append(t.odd, fmt.Sprintf("%s: %s", key, o.err))
			continue
		case len(ids) > 0:
			t.granted++
		default:
			t.refused++
		}
		t.answered++
		t.lost += t.missing(key, o, kept)
	}
	for id, r := range kept {
		if !told[id] {
			t.unclaimed++
			t.odd = append(t.odd, fmt.Sprintf("no client had an answer about %s, which is booked for %s", id, r.GetCircuit().GetRequestId()))
		}
	}
	return t
}

// missing is 1 where a circuit is not in etcd as its client was answered.
func (t *tally) missing(key string, o outcome, kept map[string]*circuitsv1.Record) int {
	id := o.circuit()
	if id == "" {
		return 0
	}
	c := kept[id].GetCircuit()
	wrong := c.GetRequestId() != key || over[c.GetState()] != (o.released != "")
	if o.released != "" {
		t.released++
	}
	if wrong {
		t.odd = append(t.odd, fmt.Sprintf("%s was granted as %s, released as %q, and etcd has %s of %s", key, id, o.released, c.GetState(), c.GetRequestId()))
		return 1
	}
	return 0
}
