package hntes

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/report"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/controlplane"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// The paper's H and interval (section II), scaled 1:100 like the rest of the scenario.
const configuration = `flow: {listen: ["%s:2055"]}
telemetry: {interval: 2s}
topology: {timeout: 30s}
alpha: {nightly_at: "", rule: {min_bytes: 10000000, interval: 60s}}
`

// startPlane starts `millrace up` and waits until it knows the network.
func (r *run) startPlane(ctx context.Context) (err error) {
	r.say("start the control plane beside the routers")
	settings := fmt.Sprintf(configuration, lab.ControllerAddress)
	if r.plane, err = controlplane.Start(ctx, r.lab, controlplane.Options{Output: r.Output, Listen: r.Listen, Logins: true, Settings: settings}); err != nil {
		return err
	}
	link, err := r.plane.Admin.Link(ctx)
	if err != nil {
		return err
	}
	r.say("  dashboard: %s  (a link that logs in once; while it runs the page can be watched)", link)
	return r.plane.AwaitNetwork(ctx, r.lab)
}

// dumpBefore remembers every router's kernel and FRR state, to be compared after the roll-back.
func (r *run) dumpBefore(ctx context.Context) (err error) {
	r.before, err = r.lab.Dump(ctx)
	return err
}

// nightly waits for day one's last records and runs the nightly job.
func (r *run) nightly(ctx context.Context) error {
	r.say("nightly: wait for the exporters' last records of day one, then look for alpha flows")
	if err := r.awaitRecords(ctx); err != nil {
		return err
	}
	day := r.phases["day1"]
	answer, err := r.plane.Alpha.Nightly(ctx, connect.NewRequest(&alphav1.NightlyRequest{From: timestamppb.New(day.Start.Add(-time.Minute))}))
	if err != nil {
		return fmt.Errorf("nightly run: %w", err)
	}
	n := answer.Msg
	for _, refused := range n.GetRefused() {
		r.say("  exporter %s is left alone: %s", refused.GetExporter(), refused.GetReason())
	}
	for _, p := range n.GetAdded() {
		r.say("  alpha pair %s -> %s, seen by %s", p.GetSrc(), p.GetDst(), p.GetExporter())
		r.report.Pairs = append(r.report.Pairs, r.pair(p))
	}
	if n.GetChangeId() == "" {
		return fmt.Errorf("the nightly run found %d pairs and asked for no change", len(n.GetAdded()))
	}
	r.report.Change.ID = n.GetChangeId()
	return nil
}

// awaitRecords waits until the store holds day one: exporters report a flow only
// after their timeout. Done means that the alpha hosts' bytes are there and no
// more arrive.
func (r *run) awaitRecords(ctx context.Context) error {
	day := r.phases["day1"]
	_, _, _, sent := measured(day)
	var last uint64
	var still int
	return r.plane.Until(ctx, 90*time.Second, "the store holds the transfers of day one", func(ctx context.Context) (bool, error) {
		top, err := r.plane.Flows.Top(ctx, connect.NewRequest(&flowv1.TopRequest{
			From: timestamppb.New(day.Start.Add(-time.Second)), To: timestamppb.Now(), Ipv4Length: 24, Limit: 100,
		}))
		if err != nil {
			return false, err
		}
		var sum uint64
		for _, p := range top.Msg.GetPairs() {
			sum += p.GetBytes()
		}
		if sum == last && float64(sum) >= 0.9*sent {
			still++
		} else {
			still = 0
		}
		last = sum
		return still >= 10, nil // two seconds of silence
	})
}

func (r *run) pair(p *alphav1.Pair) report.Pair {
	out := report.Pair{ID: p.GetId(), Src: p.GetSrc(), Dst: p.GetDst(), Ingress: p.GetExporter()}
	for _, e := range p.GetEvidence() {
		out.Evidence = append(out.Evidence, report.Evidence{
			Interval: e.GetIntervalStart().AsTime(), Seconds: e.GetInterval().AsDuration().Seconds(),
			Flow:  fmt.Sprintf("%s:%d → %s:%d", e.GetSrcAddr(), e.GetSrcPort(), e.GetDstAddr(), e.GetDstPort()),
			Bytes: e.GetBytes(), MinBytes: e.GetMinBytes(),
		})
		if end := e.GetLastRecordEnd().AsTime(); end.After(r.lastRecord) {
			r.lastRecord = end
		}
	}
	return out
}

// approve has a person's part done in the dashboard by a real browser, or through the API.
func (r *run) approve(ctx context.Context) error {
	id := r.report.Change.ID
	if len(r.Browser) > 0 {
		r.say("approve change set %s in the dashboard, in a real browser", id)
		if err := r.browse(ctx); err != nil {
			return err
		}
	} else {
		r.say("approve change set %s", id)
		req := &pushv1.ApproveRequest{Id: id, By: "scenario", Note: "day two is near", Apply: true}
		if _, err := r.plane.Changes.Approve(ctx, connect.NewRequest(req)); err != nil {
			return fmt.Errorf("approve: %w", err)
		}
	}
	c, err := r.plane.AwaitState(ctx, id, pushv1.State_STATE_VERIFIED)
	if err != nil {
		return err
	}
	r.describeChange(c)
	r.say("  applied to %d routers, verified and confirmed", len(c.GetDevices()))
	return nil
}

func (r *run) browse(ctx context.Context) error {
	link, err := r.plane.Operator.Link(ctx)
	if err != nil {
		return err
	}
	args := append(slices.Clone(r.Browser[1:]), "--link", link, "--out", r.Output, "--change", r.report.Change.ID)
	out, err := exec.CommandContext(ctx, r.Browser[0], args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("approve in the browser: %w: %s", err, strings.TrimSpace(string(out)))
	}
	r.say("  screenshots: %s", filepath.Join(r.Output, "dashboard-*.png"))
	return nil
}

// describeChange copies what a reader of the report wants to know of the change set.
func (r *run) describeChange(c *pushv1.ChangeSet) {
	out := &r.report.Change
	out.Title, out.Reason, out.Diffs = c.GetTitle(), c.GetReason(), map[string]string{}
	for _, h := range c.GetHistory() {
		out.History = append(out.History, strings.TrimSpace(fmt.Sprintf("%s %s by %s. %s", h.GetTime().AsTime().Format("15:04:05.0"),
			strings.ToLower(strings.TrimPrefix(h.GetState().String(), "STATE_")), h.GetBy(), h.GetNote())))
	}
	for _, d := range c.GetDevices() {
		out.Diffs[d.GetDevice()] = d.GetDiff()
		for _, lsp := range d.GetPlan().GetLsps() {
			r.report.Paths = append(r.report.Paths, report.Path{Name: lsp.GetName(), Hops: lsp.GetHops(), Reason: lsp.GetReason()})
		}
	}
	waited := controlplane.ReachedAt(c, pushv1.State_STATE_APPROVED).Sub(controlplane.ReachedAt(c, pushv1.State_STATE_PLANNED))
	r.report.RedirectLatencyS = (controlplane.AppliedAt(c).Sub(r.lastRecord) - waited).Seconds()
}

// rollback rolls the change back as an operator would.
func (r *run) rollback(ctx context.Context) error {
	r.say("roll the change back")
	req := &pushv1.RollbackRequest{Id: r.report.Change.ID, By: "scenario", Note: "the experiment is over"}
	if _, err := r.plane.Changes.Rollback(ctx, connect.NewRequest(req)); err != nil {
		return fmt.Errorf("roll back: %w", err)
	}
	_, err := r.plane.AwaitState(ctx, r.report.Change.ID, pushv1.State_STATE_ROLLED_BACK)
	return err
}

// dumpAfter compares every router's state with what it was before the change.
func (r *run) dumpAfter(ctx context.Context) error {
	after, err := r.lab.DumpSettled(ctx, r.before)
	if err != nil {
		return err
	}
	r.report.RollbackDiff = map[string]string{}
	for router, text := range r.before {
		if text != after[router] {
			r.report.RollbackDiff[router] = lineDiff(text, after[router])
		}
	}
	r.report.RollbackClean = len(r.report.RollbackDiff) == 0
	r.say("  every router's kernel and FRR state is as before: %t", r.report.RollbackClean)
	return nil
}

// lineDiff lists lines only one side has; dumps are sorted, so that is all there is to say.
func lineDiff(before, after string) string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	var out []string
	for _, l := range a {
		if !slices.Contains(b, l) {
			out = append(out, "-"+l)
		}
	}
	for _, l := range b {
		if !slices.Contains(a, l) {
			out = append(out, "+"+l)
		}
	}
	if len(out) == 0 {
		return "same lines, other order"
	}
	return strings.Join(out, "\n")
}

// decode reads the JSON that iproute2 prints.
func decode[T any](text string) (T, error) {
	var v T
	err := json.Unmarshal([]byte(text), &v)
	return v, err
}
