package push

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
