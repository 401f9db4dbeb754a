package circuits

import (
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/newer"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// A newer process runs beside this one, and writes fields that this one does not know: they are there after this one
// has written the records again.
func TestFieldsOfANewerProcessStay(t *testing.T) {
	newer.Owner(t, "services/circuits")
	w := newWorld(t)
	c := w.start()
	got := w.booked(c, "1", w.terms("a", "b", 3))
	kept := newer.Plant(t, w.store, "circuits/book/records/")
	w.modified(c, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: got.GetVersion(), RateBitsPerSecond: 2 * giga})
	kept.Stay(t)
	kept = newer.Plant(t, w.store, "circuits/book/records/")
	w.maintained(c, outage("CHG-7", linkID("a", "b")))
	await.True(t, "it has another path", func() bool { return len(w.get(c, got.GetId()).GetPath()) == 2 })
	kept.Stay(t)
	kept = newer.Plant(t, w.store, "circuits/book/records/", "circuits/book/maintenance/")
	if err := w.remove(c, "CHG-7", "noc"); err != nil {
		t.Fatal(err)
	}
	if _, err := (&api{c}).Release(t.Context(), connect.NewRequest(&circuitsv1.ReleaseRequest{Id: got.GetId(), By: "ann"})); err != nil {
		t.Fatal(err)
	}
	kept.Stay(t)
}
