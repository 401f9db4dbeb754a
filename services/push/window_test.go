package push

import (
	"strings"
	"testing"
	"time"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// windowed opens in two hours for one hour.
func windowed(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	opens := w.began.UTC().Add(2 * time.Hour)
	w.stop()
	w.cfg.Window = Window{From: opens.Format("15:04"), To: opens.Add(time.Hour).Format("15:04"), Zone: "UTC"}
	w.start()
	return w
}

func (w *world) later(d time.Duration) {
	w.t.Helper()
	w.passed.Add(int64(d))
	if err := w.push.takeUpAll(w.t.Context(), false); err != nil {
		w.t.Fatal(err)
	}
}

func TestAnApprovedChangeSetWaitsForTheWindow(t *testing.T) {
	w := windowed(t)
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	scheduled := w.record()
	last := scheduled.GetHistory()[len(scheduled.GetHistory())-1]
	if scheduled.GetState() != pushv1.State_STATE_SCHEDULED || !strings.Contains(last.GetNote(), "opens ") || last.GetBy() != "noc" {
		t.Fatalf("it is %s by %s: %s", scheduled.GetState(), last.GetBy(), last.GetNote())
	}
	w.later(time.Hour)
	if got := w.record().GetState(); got != pushv1.State_STATE_SCHEDULED {
		t.Errorf("an hour before the window opens it is %s", got)
	}
	must(t, w.command([]string{"freeze", "wr"}), "")
	w.later(90 * time.Minute) // it is open, and nothing is sent to a frozen router
	w.command([]string{"restart"})
	must(t, w.command([]string{"unfreeze", "wr"}), "")
	w.later(0)
	must(t, w.command([]string{"await", "verified"}), "verified")
	for _, step := range w.record().GetHistory() {
		if step.GetState() == pushv1.State_STATE_APPLYING && step.GetBy() != "noc" {
			t.Errorf("it was applied by %s", step.GetBy())
		}
	}
	w.passed.Add(int64(2 * time.Hour)) // the window is closed, and a rollback does not wait
	must(t, w.command([]string{"rollback"}), "")
	must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
}

func TestTheWaitForTheWindowIsAborted(t *testing.T) {
	w := windowed(t)
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"abort"}), "")
	w.later(150 * time.Minute)
	if got := w.record().GetState(); got != pushv1.State_STATE_APPROVED {
		t.Errorf("it is %s", got)
	}
}

// A change set that needs no approval must not schedule itself again after its wait was aborted.
func TestWhoAbortsTheWaitOfAChangeSetThatNeedsNobodyHasTheLastWord(t *testing.T) {
	w := windowed(t)
	w.command([]string{"approval", "auto"})
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"until", "scheduled"}), "")
	must(t, w.command([]string{"abort"}), "")
	if m := w.record(); goesByItself(m) || m.GetState() != pushv1.State_STATE_APPROVED {
		t.Errorf("it is %s and goes by itself: %v", m.GetState(), goesByItself(m))
	}
	must(t, w.command([]string{"apply"}), "") // and may be scheduled again
	must(t, w.command([]string{"until", "scheduled"}), "")
}

func TestWindowsOfTheConfiguration(t *testing.T) {
	for _, c := range []struct {
		window Window
		want   string
	}{
		{Window{}, "always"},
		{Window{From: "22:00", To: "05:00", Zone: "Europe/Berlin"}, "every day 22:00-05:00 Europe/Berlin"},
		{Window{Days: []string{"Mon", "sun"}, From: "22:30", To: "05:00", Zone: "UTC"}, "mon, sun 22:30-05:00 UTC"},
		{Window{From: "22:00"}, `push: window from "22:00" to ""; write times of day, such as "22:00" and "05:00"`},
		{Window{Days: []string{"mon"}}, `push: window from "" to ""; write times of day, such as "22:00" and "05:00"`},
		{Window{Days: []string{"monday"}, From: "22:00", To: "05:00"}, `push: window.days has "monday"; write sun, mon, tue, wed, thu, fri, sat`},
		{Window{From: "22:00", To: "05:00", Zone: "Berlin"}, "push: window.zone: unknown time zone Berlin; write a name such as Europe/Berlin"},
	} {
		cfg := DefaultConfiguration()
		cfg.Window = c.window
		got := ""
		if parsed, err := c.window.parse(); err != nil {
			got = cfg.Validate().Error()
		} else {
			got = parsed.String()
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.window, got, c.want)
		}
	}
}
