package push

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/services/push/drift"
)

// TestARouterThatWasNotComparedIsSaidSo: silence about drift must not read as its absence.
func TestARouterThatWasNotComparedIsSaidSo(t *testing.T) {
	w := verifiedWorld(t, drift.Report)
	want := func(reasons map[string]string) {
		t.Helper()
		out := w.listDrift()
		got := map[string]string{}
		for _, n := range out.GetNotCompared() {
			got[n.GetRouter()] = strings.SplitN(n.GetReason(), ":", 2)[0]
		}
		if d := cmp.Diff(got, reasons); d != "" || int(out.GetCompared()) != 3-len(reasons) {
			t.Errorf("%d are compared; not compared (-got +want):\n%s", out.GetCompared(), d)
		}
	}
	want(map[string]string{"cr": neverRead, "er": neverRead, "wr": neverRead})
	w.push.cfg.Reconcile.Every = time.Hour
	want(map[string]string{"cr": notReadYet, "er": notReadYet, "wr": notReadYet})
	w.read(w.push, "wr")
	want(map[string]string{"cr": notReadYet, "er": notReadYet})
	w.routers["wr"].Down()
	d, _ := w.deps.Inventory.ByName("wr")
	if err := w.push.reconcile(t.Context(), d); err == nil {
		t.Fatal("a router that is down was read")
	}
	want(map[string]string{"cr": notReadYet, "er": notReadYet, "wr": "it could not be read"})
}

// A router that has left the inventory is not read any more: what was known of it would be listed for ever.
func TestTheDriftOfARouterThatLeftIsNotListed(t *testing.T) {
	t.Parallel()
	w := verifiedWorld(t, drift.Report)
	w.routers["wr"].Edit(alphaQueue, "")
	w.read(w.push, "wr")
	if len(w.drifts()) != 1 {
		t.Fatalf("%v drift, want that of wr", w.drifts())
	}
	whole := w.deps.Inventory
	for _, c := range []struct {
		inventory *device.Inventory
		want      int
	}{{without(whole, "wr"), 0}, {whole, 1}} {
		w.stop()
		w.deps.Inventory = c.inventory
		w.start()
		if got := w.drifts(); len(got) != c.want {
			t.Errorf("%d routers in the inventory, and drift is listed of %v, want %d", len(c.inventory.Devices), got, c.want)
		}
	}
}

// What a change set did to a router that has left the inventory cannot be undone, so the change set cannot be: it would
// be recorded as rolled back with that router as it is. The error says what can be done.
func TestARollbackWithARouterThatLeftSaysWhatToDo(t *testing.T) {
	t.Parallel()
	w := verifiedWorld(t, drift.Report)
	w.stop()
	w.deps.Inventory = without(w.deps.Inventory, "wr")
	w.start()
	must(t, w.command([]string{"rollback"}), "")
	w.ends()
	history := w.get().GetHistory()
	if note := history[len(history)-1].GetNote(); !strings.Contains(note, "wr is no longer in the inventory; put it back") {
		t.Errorf("the history ends with %q", note)
	}
	for _, name := range []string{"er", "cr"} {
		if n := w.routers[name].Commits(); n != 1 {
			t.Errorf("%s had %d transactions, want that of day-1", name, n)
		}
	}
}

// without is an inventory that a router has left.
func without(inv *device.Inventory, name string) *device.Inventory {
	return &device.Inventory{Devices: slices.DeleteFunc(slices.Clone(inv.Devices), func(d device.Device) bool { return d.Name == name })}
}
