package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
)

func TestMain(m *testing.M) { os.Exit(etcd.Main(m)) }

// The network of these tests is two links, of which circuits may use capacity.
const capacity = 10

var links = []string{"a-b", "b-c"}

// replica is a process that books: a ledger whose mirror is a calendar per link.
type replica struct {
	*ledger.Ledger
	calendars map[string]*calendar.Calendar
	stop      func()
}

func start(t testing.TB, store *state.Store) *replica {
	r := &replica{calendars: map[string]*calendar.Calendar{}}
	for _, l := range links {
		c, err := calendar.New(capacity, capacity)
		if err != nil {
			t.Fatal(err)
		}
		r.calendars[l] = c
	}
	r.Ledger = ledger.New(store, r, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	var following sync.WaitGroup
	following.Go(func() { r.Follow(ctx) })
	r.stop = func() { cancel(); following.Wait() }
	t.Cleanup(r.stop)
	return r
}

// Put implements ledger.Mirror.
func (r *replica) Put(was, is *circuitsv1.Record) {
	booked, books := ledger.Books(was), ledger.Books(is)
	for _, h := range is.GetCircuit().GetPath() {
		if !booked && books {
			must(r.calendars[h.GetLink()].Add(window(is), rate(is)))
		}
	}
	for _, h := range was.GetCircuit().GetPath() {
		if booked && !books {
			must(r.calendars[h.GetLink()].Remove(window(was), rate(was)))
		}
	}
}

// PutMaintenance implements ledger.Mirror: a link has nothing while it is in maintenance.
func (r *replica) PutMaintenance(_, is *circuitsv1.Maintenance) {
	for _, l := range is.GetLinks() {
		var outages []calendar.Outage
		if is.GetRemoved() == nil {
			outages = []calendar.Outage{{Window: calendar.Window{Start: is.GetStart().GetSeconds(), End: is.GetEnd().GetSeconds()}}}
		}
		must(r.calendars[l].SetOutages(outages))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func window(r *circuitsv1.Record) calendar.Window {
	return calendar.Window{Start: r.GetLife().GetStart(), End: r.GetLife().GetEnd()}
}

func rate(r *circuitsv1.Record) int64 { return r.GetCircuit().GetSlots()[0].GetRateBitsPerSecond() }

var errFull = errors.New("full")

// book requests a rate over a window on some links.
func (r *replica) book(ctx context.Context, request string, w calendar.Window, rate int64, over ...string) (*circuitsv1.Record, error) {
	asked := ledger.Request{Project: "p", ID: request, Digest: fmt.Append(nil, w, rate, over), Expires: time.Unix(1000, 0)}
	all, err := r.EnterAll(ctx, asked, func() ([]*circuitsv1.Record, error) {
		record := &circuitsv1.Record{
			Circuit: &circuitsv1.Circuit{Id: "c-" + request, State: circuitsv1.State_STATE_HELD, RequestId: request},
			Life:    &circuitsv1.Life{Start: w.Start, End: w.End, Expires: 100},
		}
		record.Circuit.Slots = []*circuitsv1.Slot{{RateBitsPerSecond: rate}}
		for _, l := range over {
			if r.calendars[l].LeastFree(w, calendar.Soft) < rate {
				return nil, errFull
			}
			record.Circuit.Path = append(record.Circuit.Path, &circuitsv1.Hop{Link: l})
		}
		return []*circuitsv1.Record{record}, nil
	})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// tell passes an event to a circuit.
func (r *replica) tell(ctx context.Context, id string, e life.Event) error {
	_, err := r.Change(ctx, id, func(was *circuitsv1.Record) (*circuitsv1.Record, error) {
		next, actions := life.Next(ledger.LifeOf(was), e)
		if len(actions) > 0 {
			return nil, errors.New(actions[0].Text)
		}
		return ledger.With(was, next, time.Unix(0, 0)), nil
	})
	return err
}

func ready(t testing.TB, r *replica) *replica {
	await.True(t, "the book is read", func() bool { read, _ := r.Read(); return read })
	return r
}

func TestTheLastCapacityIsBookedOnce(t *testing.T) {
	store := etcd.Shared(t)
	one, two := ready(t, start(t, store)), ready(t, start(t, store))
	night := calendar.Window{Start: 1, End: 9}
	var errs [2]error
	var both sync.WaitGroup
	for i, r := range []*replica{one, two} {
		both.Go(func() { _, errs[i] = r.book(t.Context(), fmt.Sprint(i), night, capacity, links...) })
	}
	both.Wait()
	if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs[0], errs[1]), errFull) {
		t.Errorf("%v and %v: want one booking", errs[0], errs[1])
	}
}

func TestARequestIsAnsweredOnce(t *testing.T) {
	store := etcd.Shared(t)
	one, two := ready(t, start(t, store)), ready(t, start(t, store))
	night := calendar.Window{Start: 1, End: 9}
	first, err := one.book(t.Context(), "r", night, capacity, "a-b")
	if err != nil {
		t.Fatal(err)
	}
	again, err := two.book(t.Context(), "r", night, capacity, "a-b") // of which nothing is left
	if err != nil || !proto.Equal(first, again) {
		t.Errorf("the same request again: %v, %v", again, err)
	}
	if _, err := two.book(t.Context(), "r", night, 1, "a-b"); !errors.Is(err, ledger.ErrOtherRequest) {
		t.Errorf("another request under its id: %v", err)
	}
	for _, c := range []struct {
		now  int64
		want error
	}{{999, ledger.ErrOtherRequest}, {1000, errFull}} {
		if err := one.Sweep(t.Context(), time.Unix(c.now, 0)); err != nil {
			t.Fatal(err)
		}
		if _, err := two.book(t.Context(), "r", night, 1, "a-b"); !errors.Is(err, c.want) {
			t.Errorf("another request after a sweep at %d: %v, want %v", c.now, err, c.want)
		}
	}
}

func TestCapacityComesBackAndRecordsAreForgotten(t *testing.T) {
	store := etcd.Shared(t)
	one, two := ready(t, start(t, store)), ready(t, start(t, store))
	night := calendar.Window{Start: 1, End: 9}
	if _, err := one.book(t.Context(), "r", night, capacity, "a-b"); err != nil {
		t.Fatal(err)
	}
	if err := one.Forget(t.Context(), []string{"c-r", "c-none"}); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Get("c-r"); err != nil {
		t.Errorf("a circuit that has capacity is forgotten: %v", err)
	}
	if err := one.tell(t.Context(), "c-r", life.Event{Kind: life.Release, By: "noc"}); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the other replica knows", func() bool {
		_, err := two.book(t.Context(), "s", night, capacity, "a-b")
		return err == nil
	})
	if err := one.Forget(t.Context(), []string{"c-r"}); err != nil {
		t.Fatal(err)
	}
	await.True(t, "it is forgotten everywhere", func() bool {
		_, here := one.Get("c-r")
		_, there := two.Get("c-r")
		return errors.Is(here, ledger.ErrNoCircuit) && errors.Is(there, ledger.ErrNoCircuit)
	})
	if err := one.tell(t.Context(), "c-r", life.Event{Kind: life.Commit}); !errors.Is(err, ledger.ErrNoCircuit) {
		t.Errorf("a commit of what is forgotten: %v", err)
	}
}

func TestNothingIsDecidedBeforeTheBookIsRead(t *testing.T) {
	r := &replica{}
	r.Ledger = ledger.New(etcd.Shared(t), r, slog.New(slog.DiscardHandler))
	_, entered := r.book(t.Context(), "r", calendar.Window{Start: 1, End: 2}, 1)
	_, got := r.Get("c")
	for _, err := range []error{entered, got, r.tell(t.Context(), "c", life.Event{}), r.Look("", nil)} {
		if !errors.Is(err, ledger.ErrNotRead) {
			t.Errorf("%v, want ErrNotRead", err)
		}
	}
}

// acknowledged are the answers that clients got, which must be true at the end.
type acknowledged struct {
	mu                        sync.Mutex
	held, committed, released map[string]bool
}

func (a *acknowledged) note(what map[string]bool, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	what[id] = true
}

// Replicas book, commit and release at random while etcd refuses, loses answers and ends watches, and while they are
// killed. What is in etcd then is looked at second by second.
func TestManyWritersOverbookNothingAndLoseNothing(t *testing.T) {
	store := etcd.Shared(t)
	told := &acknowledged{held: map[string]bool{}, committed: map[string]bool{}, released: map[string]bool{}}
	var all sync.WaitGroup
	for p := range uint64(4) {
		all.Go(func() { writer(t, store, told, p) })
	}
	all.Wait()
	entries, _, err := store.Snapshot(t.Context(), "circuits/book/records/")
	if err != nil {
		t.Fatal(err)
	}
	records := map[string]*circuitsv1.Record{}
	for _, e := range entries {
		r := &circuitsv1.Record{}
		if err := proto.Unmarshal(e.Value, r); err != nil {
			t.Fatal(err)
		}
		records[r.GetCircuit().GetId()] = r
	}
	overbooked(t, records)
	for id := range told.held {
		if records[id] == nil {
			t.Errorf("%s was granted and is lost", id)
		}
	}
	for id := range told.committed {
		if s := records[id].GetCircuit().GetState(); s != circuitsv1.State_STATE_COMMITTED && !(s == circuitsv1.State_STATE_CANCELLED) {
			t.Errorf("%s was committed and is %s", id, s)
		}
	}
	for id := range told.released {
		if s := records[id].GetCircuit().GetState(); s != circuitsv1.State_STATE_CANCELLED {
			t.Errorf("%s was released and is %s", id, s)
		}
	}
	t.Logf("%d circuits; acknowledged: %d held, %d committed, %d released", len(records), len(told.held), len(told.committed), len(told.released))
}

// overbooked adds up the raw records for each second.
func overbooked(t *testing.T, records map[string]*circuitsv1.Record) {
	for _, link := range links {
		for second := range int64(horizon) {
			sum := int64(0)
			for _, r := range records {
				if uses := slices.ContainsFunc(r.GetCircuit().GetPath(), func(h *circuitsv1.Hop) bool { return h.GetLink() == link }); uses && ledger.Books(r) && window(r).Start <= second && second < window(r).End {
					sum += rate(r)
				}
			}
			if sum > capacity {
				t.Errorf("%s at %d: %d of %d", link, second, sum, capacity)
			}
		}
	}
}

const (
	horizon  = 40
	requests = 60
)

// writer is one replica and its clients. A client that gets no answer asks again, at the next life of the replica.
func writer(t *testing.T, store *state.Store, told *acknowledged, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	faults := rand.New(rand.NewPCG(seed, 2))
	broken := store.WithFaults(func(string, []byte) state.Fault {
		mu.Lock()
		defer mu.Unlock()
		return []state.Fault{state.Refused, state.AnswerLost, state.None, state.None, state.None, state.None, state.None, state.None, state.None, state.None}[faults.IntN(10)]
	})
	r := ready(t, start(t, broken))
	restart := func() {
		r.stop()
		r = ready(t, start(t, broken))
	}
	// until asks until there is an answer: yes, or a refusal.
	until := func(ask func(ctx context.Context) error) bool {
		for {
			err := ask(t.Context())
			var answered bool
			for _, refusal := range []error{errFull, ledger.ErrNoCircuit} {
				answered = answered || errors.Is(err, refusal)
			}
			if err == nil || answered {
				return err == nil
			}
			if rng.IntN(8) == 0 {
				restart()
			}
		}
	}
	for n := range requests {
		name := fmt.Sprintf("%d-%d", seed, n)
		w := calendar.Window{Start: rng.Int64N(horizon - 10)}
		w.End = w.Start + 1 + rng.Int64N(10)
		over, rate := links[rng.IntN(2):], 1+rng.Int64N(5)
		if !until(func(ctx context.Context) error { _, err := r.book(ctx, name, w, rate, over...); return err }) {
			continue
		}
		told.note(told.held, "c-"+name)
		if rng.IntN(3) > 0 && until(func(ctx context.Context) error { return r.tell(ctx, "c-"+name, life.Event{Kind: life.Commit}) }) {
			told.note(told.committed, "c-"+name)
		}
		if rng.IntN(3) == 0 && until(func(ctx context.Context) error { return r.tell(ctx, "c-"+name, life.Event{Kind: life.Release}) }) {
			told.note(told.released, "c-"+name)
		}
	}
}

func TestHistoryIsBounded(t *testing.T) {
	r := &circuitsv1.Record{Circuit: &circuitsv1.Circuit{}}
	for range 60 {
		r = ledger.With(r, life.Circuit{State: life.Held, Expires: 5, Moves: []life.Move{{To: life.Held}}}, time.Unix(1, 0))
	}
	if n := len(r.GetCircuit().GetHistory()); n != 50 || !proto.Equal(r.GetCircuit().GetExpires(), timestamppb.New(time.Unix(5, 0))) {
		t.Errorf("%d transitions, expires %v", n, r.GetCircuit().GetExpires())
	}
}

// Every state has its own number of the API, under its name.
func TestStates(t *testing.T) {
	for _, s := range life.States {
		n := ledger.StateOf(s)
		if ledger.NameOf(n) != s || n.String() != "STATE_"+string(upper(s)) {
			t.Errorf("%s is %s", s, n)
		}
	}
	if got := ledger.NameOf(99); got != "" {
		t.Errorf("no state is %s", got)
	}
}

func upper(s life.State) []byte {
	out := []byte(s)
	for i := range out {
		out[i] -= 'a' - 'A'
	}
	return out
}

// What etcd would not take at once is refused before, and nothing of it is booked.
func TestATransactionIsBoundedByItsSize(t *testing.T) {
	r := ready(t, start(t, etcd.Shared(t)))
	batch := func(id string, many int) error {
		_, err := r.EnterAll(t.Context(), ledger.Request{Project: "p", ID: id}, func() (all []*circuitsv1.Record, err error) {
			for i := range many {
				all = append(all, &circuitsv1.Record{Life: &circuitsv1.Life{}, Circuit: &circuitsv1.Circuit{
					Id: fmt.Sprint(id, i), Slots: []*circuitsv1.Slot{{}}, Terms: &circuitsv1.Terms{Description: string(make([]byte, 100_000))},
				}})
			}
			return all, nil
		})
		return err
	}
	if err := batch("many", 14); !errors.Is(err, ledger.ErrTooLarge) {
		t.Errorf("1.4 MB: %v", err)
	}
	if _, err := r.Get("many0"); !errors.Is(err, ledger.ErrNoCircuit) {
		t.Errorf("the first of them: %v", err)
	}
	if err := batch("few", 12); err != nil {
		t.Errorf("1.2 MB: %v", err)
	}
}
