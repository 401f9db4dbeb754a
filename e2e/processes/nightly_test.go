package processes

import (
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/testkit/transfers"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

func (p *plane) nightly(t *testing.T) *alphav1.NightlyResponse {
	t.Helper()
	r, err := p.alpha.Nightly(t.Context(), connect.NewRequest(&alphav1.NightlyRequest{
		From: timestamppb.New(p.begin.Add(-time.Hour)), To: timestamppb.New(p.begin.Truncate(time.Minute).Add(time.Minute)),
	}))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg
}

// checkNightlyRun fails unless there is one pair, found by the bytes of its one transfer.
func (p *plane) checkNightlyRun(t *testing.T, got *alphav1.NightlyResponse, of transfers.Transfer) {
	t.Helper()
	minute, end := timestamppb.New(p.begin.Truncate(time.Minute)), timestamppb.New(p.begin.Add(transfers.Lasted))
	want := &alphav1.NightlyResponse{Added: []*alphav1.Pair{{
		Src: transfers.Prefix(of.Src), Dst: transfers.Prefix(of.Dst), Exporter: exporter.String(),
		FirstSeen: minute, LastAlpha: minute, LastSeen: end, AgesOut: timestamppb.New(end.AsTime().Add(30 * 24 * time.Hour)),
		Evidence: []*alphav1.Evidence{{
			IntervalStart: minute, Interval: durationpb.New(time.Minute),
			SrcAddr: of.Src, DstAddr: of.Dst, SrcPort: transfers.SrcPort, DstPort: transfers.DstPort, Protocol: 6, InIf: transfers.InIf,
			Bytes: uint64(of.Bytes), Packets: uint64(of.Packets()), MinBytes: 1_000_000_000, SamplingRate: 1, LastRecordEnd: end,
			LowBytes: uint64(of.Bytes), HighBytes: uint64(of.Bytes),
		}},
	}}, Warnings: []string{fmt.Sprintf("change set %s failed; the next nightly run requests another in its place", got.GetChangeId())}}
	made := []cmp.Option{
		protocmp.Transform(), protocmp.IgnoreFields(&alphav1.Pair{}, "id"), protocmp.IgnoreFields(&alphav1.NightlyResponse{}, "change_id"),
	}
	if d := cmp.Diff(got, want, made...); d != "" {
		t.Fatalf("nightly run (-got +want):\n%s", d)
	}
}

// noTopology is why nothing can be planned: no router was read.
const noTopology = "policy hntes-two-queue could not be planned: unavailable: " +
	"the topology is empty; wait until a router was reached, see `millrace paths show`"

// checkChange checks the change set that alpha requested from push: its reason names the pair, and it is in
// the final state that policy and paths lead to.
func (p *plane) checkChange(t *testing.T, nightlyRun *alphav1.NightlyResponse) *pushv1.ChangeSet {
	t.Helper()
	r, err := p.changes.Get(t.Context(), connect.NewRequest(&pushv1.GetRequest{Id: nightlyRun.GetChangeId()}))
	if err != nil {
		t.Fatal(err)
	}
	got := r.Msg.GetChange()
	want := &pushv1.ChangeSet{
		Id: nightlyRun.GetChangeId(), Title: "alpha pairs: 1 added, 0 removed", Author: "alpha nightly", Policy: "hntes-two-queue",
		State: pushv1.State_STATE_FAILED, Reason: got.GetReason(), Nightly: true, Pairs: []string{nightlyRun.GetAdded()[0].GetId()},
		History: []*pushv1.Transition{
			{State: pushv1.State_STATE_DRAFT, By: "alpha nightly", Note: got.GetReason()},
			{State: pushv1.State_STATE_FAILED, By: "services/push", Note: noTopology},
		},
	}
	clock := []cmp.Option{
		protocmp.Transform(), protocmp.IgnoreFields(&pushv1.ChangeSet{}, "created"), protocmp.IgnoreFields(&pushv1.Transition{}, "time"),
	}
	if d := cmp.Diff(got, want, clock...); d != "" {
		t.Errorf("change set (-got +want):\n%s", d)
	}
	return got
}
