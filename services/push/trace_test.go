package push

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/testkit/otlp"
	"github.com/millrace/millrace/internal/trace"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// TestOneTraceFromApprovalToTheKernel: the trace of an approval goes on in the rollout that it starts, and over gNMI in
// the router's real agent.
func TestOneTraceFromApprovalToTheKernel(t *testing.T) {
	collector := otlp.Start(t)
	stop, err := trace.Start(t.Context(), trace.Configuration{Endpoint: collector.URL, Ratio: 1}, "millrace", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w, _ := newRealWorld(t)
	must(t, w.command([]string{"create", "day-1"}), "planned")
	ctx, click := trace.Root(t.Context(), "an operator approves")
	if _, err := w.push.approveAndApply(ctx, w.id); err != nil {
		t.Fatal(err)
	}
	click.End(nil)
	must(t, w.command([]string{"await", "verified"}), "verified")
	w.stop() // so that the rollout's span has ended
	if err := stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	chains := strings.Join(collector.Chains(), "\n") + "\n"
	for _, action := range []string{"send", "confirm"} {
		re := regexp.MustCompile(`(?m)^an operator approves > .*roll out change set > ` + action + ` r1 > call /gnmi.gNMI/Set > serve /gnmi.gNMI/Set$`)
		if !re.MatchString(chains) {
			t.Errorf("no chain of spans from the approval to %s in the router's agent:\n%s", action, collector.Tree())
		}
	}
	w.start() // which the end of the test stops
}

func (c *Component) approveAndApply(ctx context.Context, id string) (*connect.Response[pushv1.ApproveResponse], error) {
	return (&api{c}).Approve(ctx, connect.NewRequest(&pushv1.ApproveRequest{Id: id, By: "noc", Apply: true}))
}
