package routeragent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace/millrace/internal/testkit/await"
)

func commit(req *gnmi.SetRequest, c *gnmi_ext.Commit) *gnmi.SetRequest {
	req.Extension = append(req.Extension, &gnmi_ext.Extension{Ext: &gnmi_ext.Extension_Commit{Commit: c}})
	return req
}

func trial(id string, d *durationpb.Duration) *gnmi_ext.Commit {
	return &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Commit{Commit: &gnmi_ext.CommitRequest{RollbackDuration: d}}}
}

func confirm(id string) *gnmi_ext.Commit {
	return &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Confirm{Confirm: &gnmi_ext.CommitConfirm{}}}
}

func cancel(id string) *gnmi_ext.Commit {
	return &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Cancel{Cancel: &gnmi_ext.CommitCancel{}}}
}

func extend(id string, d *durationpb.Duration) *gnmi_ext.Commit {
	return &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_SetRollbackDuration{SetRollbackDuration: &gnmi_ext.CommitSetRollbackDuration{RollbackDuration: d}}}
}

func check31(t *testing.T) {
	t.Run("unconfirmed", unconfirmedIsRolledBack)
	t.Run("confirmed", confirmedStays)
	t.Run("cancel and set_rollback_duration", cancelAndExtend)
	t.Run("without duration", tenMinutes)
}

func check33(t *testing.T) {
	t.Run("kill -9", killedAgentRollsBack)
	t.Run("restart", waitingDoesNotSurviveARestart)
	t.Run("reboot", rebootIsBuiltAgain)
	t.Run("kill -9 and reboot", killedAndRebooted)
}

// tenMinutes reads the journal, which is what a rollback goes by, too.
func tenMinutes(t *testing.T) {
	x := newTarget(t)
	// gnmic always sends the field, with 0 where it has nothing to say.
	wantCode(t, x.set(commit(x.request("update / "+hntes("95")), trial("c0", durationpb.New(0)))), codes.OK)
	wantCode(t, x.set(commit(&gnmi.SetRequest{}, cancel("c0"))), codes.OK)
	began := time.Now()
	if err := x.set(commit(x.request("update / "+hntes("95")), trial("c1", nil))); err != nil {
		t.Fatal(err)
	}
	ended := time.Now()
	raw, err := os.ReadFile(filepath.Join(x.cfg.DataDir, "running.json"))
	if err != nil {
		t.Fatal(err)
	}
	var journal struct {
		Pending struct {
			ID       string
			Deadline time.Time
		}
	}
	if err := json.Unmarshal(raw, &journal); err != nil {
		t.Fatal(err)
	}
	if d := journal.Pending.Deadline; d.Before(began.Add(10*time.Minute)) || d.After(ended.Add(10*time.Minute)) {
		t.Errorf("the commit waits until %s, want 10 minutes after the Set, which was between %s and %s", d, began, ended)
	}
}

// unconfirmedIsRolledBack goes by the machine's clock: each of two commits is looked at while it waits only
// where nothing can run out meanwhile. The other tests of durations have a clock of their own.
func unconfirmedIsRolledBack(t *testing.T) {
	x := newTarget(t)
	before := x.dump()
	reverted := func() {
		t.Helper()
		await.True(t, "the commit is rolled back", func() bool { return x.config("/qos") == "" })
		if diff := cmp.Diff(before, x.dump()); diff != "" {
			t.Errorf("kernel after the rollback (-before +after):\n%s", diff)
		}
		wantCode(t, x.set(commit(&gnmi.SetRequest{}, confirm("c1"))), codes.FailedPrecondition)
	}
	if err := x.set(commit(x.request("update / "+hntes("95")), trial("c1", durationpb.New(time.Second)))); err != nil {
		t.Fatal(err)
	}
	reverted()
	if err := x.set(commit(x.request("update / "+hntes("95")), trial("c1", durationpb.New(time.Hour)))); err != nil {
		t.Fatal(err)
	}
	if x.dump() == before || x.config("/qos") == "" {
		t.Fatal("the commit is not in force while it waits")
	}
	if err := x.set(commit(&gnmi.SetRequest{}, extend("c1", durationpb.New(time.Second)))); err != nil {
		t.Fatal(err)
	}
	reverted()
}

func confirmedStays(t *testing.T) {
	x := newTargetBy(t, &clock{})
	if err := x.set(commit(x.request("update / "+hntes("95")), trial("c1", durationpb.New(4*time.Second)))); err != nil {
		t.Fatal(err)
	}
	if err := x.set(commit(&gnmi.SetRequest{}, confirm("c1"))); err != nil {
		t.Fatal(err)
	}
	held := x.dump()
	x.clock.pass(4 * time.Second) // the deadline: nothing may happen
	if diff := cmp.Diff(held, x.dump()); diff != "" || x.config("/qos") == "" {
		t.Errorf("a confirmed commit was rolled back (-held +now):\n%s", diff)
	}
	x.stop()
	x.start()
	if diff := cmp.Diff(held, x.dump()); diff != "" || x.config("/qos") == "" {
		t.Errorf("a confirmed commit did not survive a restart (-held +now):\n%s", diff)
	}
}

func cancelAndExtend(t *testing.T) {
	x := newTargetBy(t, &clock{})
	before := x.dump()
	if err := x.set(commit(x.request("update / "+hntes("95")), trial("c1", durationpb.New(4*time.Second)))); err != nil {
		t.Fatal(err)
	}
	if err := x.set(commit(&gnmi.SetRequest{}, extend("c1", durationpb.New(time.Hour)))); err != nil {
		t.Fatal(err)
	}
	x.clock.pass(4 * time.Second)
	if x.config("/qos") == "" {
		t.Fatal("an extended commit was rolled back at its first deadline")
	}
	x.clock.pass(time.Hour)
	if x.config("/qos") != "" {
		t.Fatal("an extended commit was not rolled back at its second deadline")
	}
	if err := x.set(commit(x.request("update / "+hntes("95")), trial("c1", durationpb.New(time.Hour)))); err != nil {
		t.Fatal(err)
	}
	if err := x.set(commit(&gnmi.SetRequest{}, cancel("c1"))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, x.dump()); diff != "" || x.config("/qos") != "" {
		t.Errorf("kernel after cancel (-before +after):\n%s", diff)
	}
}

func check32(t *testing.T) {
	x := newTarget(t)
	for name, c := range map[string]*gnmi_ext.Commit{"confirm": confirm("c1"), "cancel": cancel("c1"), "set_rollback_duration": extend("c1", durationpb.New(time.Hour))} {
		t.Run(name+" with none pending", func(t *testing.T) {
			wantCode(t, x.set(commit(&gnmi.SetRequest{}, c)), codes.FailedPrecondition)
		})
	}
	for name, c := range map[string]*gnmi_ext.Commit{
		"no id":       trial("", nil),
		"duration 0":  extend("c1", durationpb.New(0)),
		"less than 0": trial("c1", durationpb.New(-1)),
		"no action":   {Id: "c1"},
		"no duration": extend("c1", nil),
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, x.set(commit(x.request("update / "+hntes("95")), c)), codes.InvalidArgument)
		})
	}
	for name, twice := range map[string]*gnmi.SetRequest{
		"two commits": commit(commit(&gnmi.SetRequest{}, confirm("c1")), cancel("c1")),
		"two arbitrations": {Extension: []*gnmi_ext.Extension{
			{Ext: &gnmi_ext.Extension_MasterArbitration{MasterArbitration: &gnmi_ext.MasterArbitration{ElectionId: &gnmi_ext.Uint128{Low: 1}}}},
			{Ext: &gnmi_ext.Extension_MasterArbitration{MasterArbitration: &gnmi_ext.MasterArbitration{ElectionId: &gnmi_ext.Uint128{Low: 2}}}}}},
	} {
		t.Run(name, func(t *testing.T) { wantCode(t, x.set(twice), codes.InvalidArgument) })
	}
	depth := &gnmi_ext.Extension{Ext: &gnmi_ext.Extension_Depth{Depth: &gnmi_ext.Depth{Level: 1}}}
	_, err := x.client.Get(t.Context(), &gnmi.GetRequest{Extension: []*gnmi_ext.Extension{depth, depth}})
	wantCode(t, err, codes.InvalidArgument)
	// No duration is ten minutes, and so waits through what follows.
	if err := x.set(commit(x.request("update / "+hntes("95")), trial("c1", nil))); err != nil {
		t.Fatal(err)
	}
	wantCode(t, x.set(x.request("delete /")), codes.FailedPrecondition)
	wantCode(t, x.set(commit(x.request("delete /"), trial("c2", nil))), codes.FailedPrecondition)
	wantCode(t, x.set(commit(&gnmi.SetRequest{}, confirm("c2"))), codes.InvalidArgument)
	wantCode(t, x.set(commit(x.request("delete /"), confirm("c1"))), codes.InvalidArgument)
	wantCode(t, x.set(commit(&gnmi.SetRequest{}, cancel("c1"))), codes.OK)
}

func waitingDoesNotSurviveARestart(t *testing.T) {
	x := newTarget(t)
	if err := x.set(x.request("update / " + hntes("80"))); err != nil {
		t.Fatal(err)
	}
	config, before := x.config("/"), x.dump()
	change := commit(x.request("update / "+hntes("95"), "delete /network-instances/network-instance[name=DEFAULT]/policy-forwarding/interfaces"), trial("c1", durationpb.New(time.Hour)))
	if err := x.set(change); err != nil {
		t.Fatal(err)
	}
	if x.dump() == before {
		t.Fatal("the commit is not in force while it waits")
	}
	x.stop()
	x.start()
	if diff := cmp.Diff(config, x.config("/")); diff != "" {
		t.Errorf("configuration (-before the commit +after the restart):\n%s", diff)
	}
	if diff := cmp.Diff(before, x.dump()); diff != "" {
		t.Errorf("kernel (-before the commit +after the restart):\n%s", diff)
	}
	wantCode(t, x.set(commit(&gnmi.SetRequest{}, confirm("c1"))), codes.FailedPrecondition)
}

func rebootIsBuiltAgain(t *testing.T) {
	x := newTarget(t)
	if err := x.set(x.request("update / " + hntes("95"))); err != nil {
		t.Fatal(err)
	}
	held := x.dump()
	x.stop()
	// What a reboot leaves of it: lines with their own qdisc, no rules, no LSPs.
	x.router.In("tc", "qdisc", "replace", "dev", "ge-b", "root", "handle", "1:", "tbf", "rate", "100mbit", "burst", "15k", "limit", "1250000")
	for _, port := range []string{"ge-a", "ge-b"} {
		x.router.In("tc", "qdisc", "del", "dev", port, "clsact")
	}
	x.router.In("ip", "rule", "del", "pref", "20001")
	x.router.In("ip", "route", "flush", "table", "20001")
	clear(x.lsps.have)
	x.start()
	if diff := cmp.Diff(held, x.dump()); diff != "" {
		t.Errorf("kernel after the reboot (-before +after):\n%s", diff)
	}
}
