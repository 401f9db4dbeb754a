package alpha

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/testkit/otlp"
	"github.com/millrace/millrace/internal/trace"
)

// TestANightlyRunIsOneTrace: from the start of a run to the request of its change set, with which services/push goes
// on.
func TestANightlyRunIsOneTrace(t *testing.T) {
	collector := otlp.Start(t)
	stop, err := trace.Start(t.Context(), trace.Configuration{Endpoint: collector.URL, Ratio: 1}, "millrace", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, nil)
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.nightly(t, nightlyRun())
	if err := stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	chains := collector.Chains()
	for _, want := range []string{
		"nightly run > call /millrace.flow.v1.FlowStoreService/Top", "nightly run > call /millrace.push.v1.ChangeService/Create",
	} {
		if !slices.Contains(chains, want) {
			t.Errorf("no %s in\n%s", want, collector.Tree())
		}
	}
}
