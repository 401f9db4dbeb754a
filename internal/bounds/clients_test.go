package bounds

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
)

func TestCallsAndChangesOfOneClientAreBounded(t *testing.T) {
	c := NewClients(Limits{Calls: 3, Changes: 2, PerSecond: 1, Burst: 100})
	begin := func(name string, change bool, want Reason) func() {
		t.Helper()
		end, why := c.Begin(name, change)
		if why != want || (end == nil) != (want != Room) {
			t.Errorf("%s, change %v: %q, want %q", name, change, why, want)
		}
		return end
	}
	one := begin("a", true, Room)
	two := begin("a", true, Room)
	begin("a", true, TooManyChanges)
	three := begin("a", false, Room)
	begin("a", false, TooManyCalls)
	begin("a", true, TooManyCalls)
	begin("b", true, Room) // nobody else is held up
	one()
	one() // twice is once
	four := begin("a", true, Room)
	begin("a", true, TooManyCalls)
	for _, end := range []func(){two, three, four} {
		end()
	}
	if c.by["a"] != nil || c.by["b"] == nil {
		t.Errorf("kept: %v", c.by)
	}
}

func TestChangesOfOneClientArePaced(t *testing.T) {
	c := NewClients(Limits{Calls: 10, Changes: 10, PerSecond: 2, Burst: 3})
	now := time.Now()
	c.now = func() time.Time { return now }
	want := func(name string, reasons ...Reason) {
		t.Helper()
		var got []Reason
		for range reasons {
			end, _ := c.Begin(name, true)
			got = append(got, c.Change(name))
			end() // what is owed is not forgotten with the call
		}
		if fmt.Sprint(got) != fmt.Sprint(reasons) {
			t.Errorf("%q, want %q", got, reasons)
		}
	}
	want("a", Room, Room, Room, TooFast)
	want("b", Room)
	now = now.Add(500 * time.Millisecond)
	want("a", Room, TooFast)
	now = now.Add(time.Hour)
	want("a", Room, Room, Room, TooFast)
}

// TestAClientHasItsPlacesInLine, however many calls it makes, and others do not wait for it.
func TestAClientHasItsPlacesInLine(t *testing.T) {
	c := NewClients(Limits{Calls: 10, Changes: 10, PerSecond: 1, Burst: 1, Places: 2})
	turn := func(ctx context.Context, name, kind string) func() {
		t.Helper()
		done, err := c.Turn(ctx, name, kind)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	first := turn(t.Context(), "greedy", "Get")
	turn(t.Context(), "greedy", "Get")
	turn(t.Context(), "other", "Get")()
	turn(t.Context(), "greedy", "Set")()
	left, leave := context.WithCancel(t.Context())
	leave()
	if _, err := c.Turn(left, "greedy", "Get"); !errors.Is(err, context.Canceled) {
		t.Errorf("three at once: %v", err)
	}
	second := make(chan func(), 1)
	go func() { done, _ := c.Turn(context.Background(), "greedy", "Get"); second <- done }()
	first()
	await.Value(t, "the next has its turn", second)()
}

// TestAPlaceLastsLongerThanItsCall: a call ends with its context, and its handler holds its place a little longer.
func TestAPlaceLastsLongerThanItsCall(t *testing.T) {
	c := NewClients(Limits{Calls: 10, Changes: 10, PerSecond: 1, Burst: 1, Places: 1})
	end, _ := c.Begin("a", false)
	done, err := c.Turn(t.Context(), "a", "Get")
	if err != nil {
		t.Fatal(err)
	}
	record := c.by["a"]
	end()
	if c.by["a"] != record {
		t.Fatal("a client whose call has ended gets one place more")
	}
	again, _ := c.Begin("a", false)
	second := make(chan func(), 1)
	go func() { done, _ := c.Turn(context.Background(), "a", "Get"); second <- done }()
	done()
	await.Value(t, "the place is free", second)()
	again()
	if len(c.by) != 0 {
		t.Errorf("kept: %v", c.by)
	}
}

// TestACallThatHasEndedLeavesNothing behind in the records, whatever its handler does next.
func TestACallThatHasEndedLeavesNothing(t *testing.T) {
	c := NewClients(Limits{Calls: 10, Changes: 10, PerSecond: 1, Burst: 1, Places: 1})
	ctx, cancel := context.WithCancel(t.Context())
	end, _ := c.Begin("a", true)
	cancel()
	end()
	for range 100 { // a free place and a context that is over: either may be seen first
		if _, err := c.Turn(ctx, "a", "Get"); !errors.Is(err, context.Canceled) {
			t.Fatalf("a turn: %v", err)
		}
	}
	if why := c.Change("a"); why != Gone {
		t.Errorf("a change: %q", why)
	}
	if len(c.by) != 0 {
		t.Errorf("kept: %v", c.by)
	}
}
