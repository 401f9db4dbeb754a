package push

import (
	"testing"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/testkit/newer"
	"github.com/millrace/millrace/services/push/drift"
)

// A newer process runs beside this one, and writes fields that this one does not know: they are there after this one
// has written the records again.
func TestFieldsOfANewerProcessStay(t *testing.T) {
	newer.Owner(t, "services/push")
	t.Run("a change set", func(t *testing.T) {
		w := newWorld(t)
		must(t, w.command([]string{"create", "day-1"}), "planned")
		kept := newer.Plant(t, w.deps.State, recordPrefix)
		must(t, w.command([]string{"approve", "apply"}), "")
		must(t, w.command([]string{"await", "verified"}), "verified")
		kept.Stay(t)
		kept = newer.Plant(t, w.deps.State, recordPrefix)
		must(t, w.command([]string{"rollback"}), "")
		must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
		kept.Stay(t)
	})
	t.Run("the drift of a router", func(t *testing.T) {
		w := verifiedWorld(t, drift.Report)
		w.routers["wr"].Edit(alphaQueue, "")
		for range 2 {
			w.read(w.push, "wr")
		}
		kept := newer.Plant(t, w.deps.State, driftPrefix)
		w.routers["wr"].Edit(configentry.Queue.Path("te-other"), `{"name": "te-other"}`)
		for range 2 {
			w.read(w.push, "wr")
		}
		kept.Stay(t)
	})
}
