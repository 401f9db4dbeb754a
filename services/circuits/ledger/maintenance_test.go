package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/ledger"
)

var night = calendar.Window{Start: 1, End: 9}

// plan puts a link in maintenance, and says whether something was booked on it when that was decided.
func (r *replica) plan(ctx context.Context, id, link string) (booked bool, err error) {
	_, err = r.Maintain(ctx, id, func(was *circuitsv1.Maintenance) (*circuitsv1.Maintenance, error) {
		if was != nil {
			return nil, nil
		}
		booked = r.calendars[link].LeastFree(night, calendar.Soft) < capacity
		return &circuitsv1.Maintenance{Id: id, Links: []string{link}, Start: &timestamppb.Timestamp{Seconds: 1}, End: &timestamppb.Timestamp{Seconds: 9}}, nil
	})
	return booked, err
}

// Of a booking and a maintenance at two replicas at once, the booking is refused, or the maintenance has seen it.
func TestABookingAndMaintenanceAtOnce(t *testing.T) {
	seen, refused := 0, 0
	for range 10 {
		store := etcd.Shared(t)
		one, two := ready(t, start(t, store)), ready(t, start(t, store))
		var bookErr, planErr error
		var booked bool
		var both sync.WaitGroup
		both.Go(func() { _, bookErr = one.book(t.Context(), "r", night, capacity, "a-b") })
		both.Go(func() { booked, planErr = two.plan(t.Context(), "m", "a-b") })
		both.Wait()
		switch {
		case planErr != nil:
			t.Fatal(planErr)
		case errors.Is(bookErr, errFull) && !booked:
			refused++
		case bookErr == nil && booked:
			seen++
		default:
			t.Fatalf("booked: %v; seen by the maintenance: %t", bookErr, booked)
		}
	}
	t.Logf("%d were booked first, %d refused", seen, refused)
}

// What one has planned, another one has, and one that starts later; what is forgotten none has.
func TestMaintenanceIsFollowed(t *testing.T) {
	store := etcd.Shared(t)
	one, two := ready(t, start(t, store)), ready(t, start(t, store))
	for i := range 3 {
		if _, err := one.plan(t.Context(), fmt.Sprint(i), "b-c"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := two.Maintain(t.Context(), "2", func(was *circuitsv1.Maintenance) (*circuitsv1.Maintenance, error) {
		if was.GetId() != "2" {
			t.Errorf("another replica knows %v", was)
		}
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	late := ready(t, start(t, store))
	has := func(r *replica, want int) bool {
		n := 0
		must(r.LookMaintenance(func(all iter.Seq[*circuitsv1.Maintenance]) {
			for range all {
				n++
			}
		}))
		return n == want
	}
	if !has(late, 3) || late.calendars["b-c"].LeastFree(night, calendar.Soft) != 0 {
		t.Error("one that starts later does not have it")
	}
	if err := one.ForgetMaintenance(t.Context(), func(m *circuitsv1.Maintenance) bool { return m.GetId() != "1" }); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*replica{one, two, late} {
		await.True(t, "two are forgotten", func() bool { return has(r, 1) })
	}
	gone := &replica{Ledger: ledger.New(store, one, nil)}
	if _, err := gone.plan(t.Context(), "3", "a-b"); !errors.Is(err, ledger.ErrNotRead) {
		t.Errorf("one that has read nothing plans: %v", err)
	}
}
