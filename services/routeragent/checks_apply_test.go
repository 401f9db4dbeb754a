package routeragent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace/millrace/services/routeragent/frr"
)

func check24(t *testing.T) {
	x := loaded(t)
	s := x.subscribe(t, list(gnmi.SubscriptionList_STREAM, &gnmi.Subscription{Mode: gnmi.SubscriptionMode_ON_CHANGE, Path: mustPath(t, "/qos")}))
	s.untilSync()
	config, before := x.config("/"), x.dump()
	bad := x.request("update /qos/queues/queue[name=te-x]/config/queue-id 4", "update / "+hntes("80"), "update /qos/queues/queue[name=te-x]/config/queue-id 999")
	err := x.set(bad)
	wantCode(t, err, codes.InvalidArgument)
	if diff := cmp.Diff(config+before, x.config("/")+x.dump()); diff != "" {
		t.Errorf("configuration and kernel (-before +after):\n%s", diff)
	}
	// The next thing a subscriber hears of is the next good Set, and nothing of the bad one.
	if err := x.set(x.request("update /qos/queues/queue[name=te-y]/config/queue-id 5")); err != nil {
		t.Fatal(err)
	}
	for path := range s.change() {
		if !strings.Contains(path, "te-y") {
			t.Errorf("a change of %s was sent", path)
		}
	}
	// The status says which operation it was.
	bad = x.request("update /qos/queues/queue[name=te-x]/config/queue-id 4", `update /qos/queues/queue[name=te-z]/config {"name":5}`)
	err = x.set(bad)
	wantCode(t, err, codes.InvalidArgument)
	if diff := cmp.Diff([]string{"update[1] /qos/queues/queue[name=te-z]/config"}, violations(err)); diff != "" {
		t.Errorf("operations named by the status (-want +got):\n%s", diff)
	}
}

// violations are the operations that the status of a Set names.
func violations(err error) (fields []string) {
	for _, d := range status.Convert(err).Details() {
		if b, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range b.GetFieldViolations() {
				fields = append(fields, v.GetField())
			}
		}
	}
	return fields
}

// A Set that fails says which operation it was, whatever it failed at: a reference, a key, a feature, a step of
// applying.
func TestEveryFailedSetNamesItsOperation(t *testing.T) {
	x := loaded(t)
	const queue, group = "/qos/queues/queue[name=te-alpha]/config", "/qos/forwarding-groups/forwarding-group[name=te-x]/config/output-queue"
	union := &gnmi.SetRequest{UnionReplace: []*gnmi.Update{x.upd("/qos", "{}")}, Delete: []*gnmi.Path{mustPath(t, "/qos")}}
	for name, c := range map[string]struct {
		req  *gnmi.SetRequest
		want []string
	}{
		"a dangling reference": {x.request("update /qos/queues/queue[name=q]/config/queue-id 7", "update "+group+` "nope"`), []string{"update[1] " + group}},
		"a key that is gone":   {x.request("delete " + queue + "/name"), []string{"delete[0] " + queue + "/name"}},
		"an unimplemented leaf": {x.request("update /qos/queues/queue[name=q]/config/queue-id 7", "update /interfaces/interface[name=ge-a]/config/mtu 1400"),
			[]string{"update[1] /interfaces/interface[name=ge-a]/config/mtu"}},
		"what another place needs":      {x.request("delete " + "/qos/queues/queue[name=te-alpha]"), []string{"delete[0] /qos/queues/queue[name=te-alpha]"}},
		"union_replace beside a delete": {union, []string{"union_replace[0] /qos"}},
		"a commit that does not wait":   {commit(&gnmi.SetRequest{}, confirm("c1")), []string{`extension[0] commit`}},
	} {
		got := violations(x.set(c.req))
		if len(got) != len(c.want) || !strings.HasPrefix(got[0], c.want[0]) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	x.agent.InjectFault(func(string) error { return errInjected })
	defer x.agent.InjectFault(nil)
	if diff := cmp.Diff([]string{"update[0] /"}, violations(x.set(x.request("update / "+hntes("80"))))); diff != "" {
		t.Errorf("a step of applying (-want +got):\n%s", diff)
	}
}

// A Set that touches no LSP asks FRR for nothing: that takes a slow router half a second.
func TestASetWithoutLSPsLeavesFRRAlone(t *testing.T) {
	x := loaded(t)
	asked := x.lsps.calls()
	x.must(t, "update /qos/queues/queue[name=te-x]/config/queue-id 9")
	x.must(t, "delete /qos/queues/queue[name=te-x]")
	if got := x.lsps.calls(); got != asked {
		t.Errorf("FRR was asked %d times for Sets of a queue", got-asked)
	}
	// What the kernel no longer has is made again, whatever the Set is about.
	x.router.In("ip", "route", "flush", "table", "20001")
	x.lsps.forget()
	x.must(t, "update /qos/queues/queue[name=te-x]/config/queue-id 9")
	if got := x.lsps.calls(); got == asked {
		t.Error("an LSP that the kernel lost was not made again")
	}
	asked = x.lsps.calls()
	x.must(t, "update / "+strings.ReplaceAll(hntes("95"), "10.0.2.2", "10.0.1.2"))
	if got := x.lsps.calls(); got == asked {
		t.Error("another path was not asked for")
	}
}

// The time to confirm begins when the change is applied: one that takes longer than it must not be rolled back at once.
func TestTheConfirmationWindowBeginsAfterApplying(t *testing.T) {
	const duration = 300 * time.Millisecond
	x := newTargetBy(t, &clock{})
	began := time.Now()
	x.agent.InjectFault(func(string) error {
		time.Sleep(time.Until(began.Add(duration))) // applying takes as long as the duration
		return nil
	})
	err := x.set(commit(x.request("update / "+hntes("95")), trial("c1", durationpb.New(duration))))
	x.agent.InjectFault(nil)
	wantCode(t, err, codes.OK)
	raw, err := os.ReadFile(filepath.Join(x.cfg.DataDir, "running.json"))
	if err != nil {
		t.Fatal(err)
	}
	var journal struct{ Pending struct{ Deadline time.Time } }
	if err := json.Unmarshal(raw, &journal); err != nil {
		t.Fatal(err)
	}
	if earliest := began.Add(2 * duration); journal.Pending.Deadline.Before(earliest) {
		t.Errorf("the deadline is %s too early", earliest.Sub(journal.Pending.Deadline))
	}
}

func check25(t *testing.T) {
	t.Run("kernel", kernelStepsFail)
	t.Run("FRR", frrFails)
	t.Run("journal", journalFails)
}

func kernelStepsFail(t *testing.T) {
	x := loaded(t)
	config, before := x.config("/"), x.dump()
	// Everything at once: other weights, another rule, another LSP, another port.
	next := x.request("update / "+hntes("80"), "update /defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=te-src-7]/config/prefix [\"10.9.0.0/16\"]",
		`update /qos/interfaces/interface[interface-id=ge-a] {"config":{"interface-id":"ge-a"},"interface-ref":{"config":{"interface":"ge-a"}},"output":{"scheduler-policy":{"config":{"name":"te-2q"}}}}`,
		"delete /network-instances/network-instance[name=DEFAULT]/policy-forwarding/policies/policy[policy-id=te-in]/rules/rule[sequence-id=10]/action/config/path-selection-group",
		"delete /network-instances/network-instance[name=DEFAULT]/policy-forwarding/path-selection-groups", "delete /network-instances/network-instance[name=DEFAULT]/mpls")
	var steps []string
	for n := 0; n < 40; n++ {
		step, failed := 0, ""
		x.agent.InjectFault(func(name string) error {
			if step++; step == n+1 {
				failed = name
				return errInjected
			}
			return nil
		})
		err := x.set(next)
		x.agent.InjectFault(nil)
		if err == nil {
			break
		}
		steps = append(steps, failed)
		wantCode(t, err, codes.Aborted)
		if !strings.Contains(err.Error(), failed) {
			t.Errorf("the error %v does not name the step %q", err, failed)
		}
		if diff := cmp.Diff(before, x.dump()); diff != "" {
			t.Errorf("kernel after failure of %q (-before +after):\n%s", failed, diff)
		}
		if diff := cmp.Diff(config, x.config("/")); diff != "" {
			t.Errorf("configuration after failure of %q (-before +after):\n%s", failed, diff)
		}
	}
	if len(steps) < 5 {
		t.Errorf("only %d steps could fail: %q", len(steps), steps)
	}
	if got := x.router.In("tc", "qdisc", "show", "dev", "ge-a"); !strings.Contains(got, "htb 7e0") {
		t.Errorf("the Set that no step failed did nothing:\n%s", got)
	}
}

func frrFails(t *testing.T) {
	x := newTarget(t)
	before := x.dump()
	for _, c := range []struct {
		fault error
		want  codes.Code
	}{
		{fmt.Errorf("%w: %w", frr.ErrUnresolved, errInjected), codes.FailedPrecondition},
		{fmt.Errorf("%w: %w", frr.ErrUnavailable, errInjected), codes.Unavailable},
		{errInjected, codes.Aborted},
	} {
		x.lsps.fail = c.fault
		wantCode(t, x.set(x.request("update / "+hntes("95"))), c.want)
		if diff := cmp.Diff(before, x.dump()); diff != "" || x.config("/qos") != "" {
			t.Errorf("kernel after %v (-before +after):\n%s", c.fault, diff)
		}
	}
}

// journalFails makes the last step fail: the folder of the journal is gone.
func journalFails(t *testing.T) {
	x := loaded(t)
	config, before := x.config("/"), x.dump()
	aside := x.cfg.DataDir + ".aside"
	x.router.Run("mv", x.cfg.DataDir, aside)
	err := x.set(x.request("update / " + hntes("80")))
	x.router.Run("mv", aside, x.cfg.DataDir)
	wantCode(t, err, codes.Aborted)
	if diff := cmp.Diff(config+before, x.config("/")+x.dump()); diff != "" {
		t.Errorf("configuration and kernel (-before +after):\n%s", diff)
	}
}

func check26(t *testing.T) {
	x := newTarget(t)
	r, err := x.client.Set(t.Context(), x.request("update /qos/queues/queue[name=c]/config/queue-id 3", "replace /qos/queues/queue[name=b]/config/queue-id 2", "delete /qos/queues/queue[name=a]"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range r.GetResponse() {
		got = append(got, fmt.Sprint(u.GetOp(), " ", pathString(t, u.GetPath())))
	}
	want := []string{"DELETE /qos/queues/queue[name=a]", "REPLACE /qos/queues/queue[name=b]/config/queue-id", "UPDATE /qos/queues/queue[name=c]/config/queue-id"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if r.GetTimestamp() == 0 {
		t.Error("no timestamp")
	}
}

func check27(t *testing.T) {
	x := loaded(t)
	union := func(updates ...*gnmi.Update) error {
		_, err := x.client.Set(t.Context(), &gnmi.SetRequest{UnionReplace: updates})
		return err
	}
	config, before := x.config("/"), x.dump()
	one := x.upd("/qos/queues", `{"queue":[`+queueA+`]}`)
	two := x.upd("/qos/queues/queue[name=b]/config/queue-id", "2")
	wantCode(t, x.set(&gnmi.SetRequest{UnionReplace: []*gnmi.Update{one}, Update: []*gnmi.Update{two}}), codes.InvalidArgument)
	wantCode(t, x.set(&gnmi.SetRequest{UnionReplace: []*gnmi.Update{one}, Delete: []*gnmi.Path{{}}}), codes.InvalidArgument)
	err := union(one, x.upd("/qos/queues/queue[name=a]/config/queue-id", "7"))
	wantCode(t, err, codes.InvalidArgument)
	if err == nil || !strings.Contains(err.Error(), "union_replace[1]") {
		t.Errorf("the error %v does not name the conflict", err)
	}
	wantCode(t, union(x.upd("/qos/queues/queue[name=a]/state/name", `"a"`)), codes.InvalidArgument)
	wantCode(t, union(x.upd("/qos/queues/queue[name=*]/config/queue-id", "7")), codes.InvalidArgument)
	if diff := cmp.Diff(config+before, x.config("/")+x.dump()); diff != "" {
		t.Errorf("refused unions changed something (-before +after):\n%s", diff)
	}
	r, err := x.client.Set(t.Context(), &gnmi.SetRequest{UnionReplace: []*gnmi.Update{one, two, two}})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range r.GetResponse() {
		if u.GetOp() != gnmi.UpdateResult_UNION_REPLACE {
			t.Errorf("result %v", u)
		}
	}
	want := `{"qos":{"queues":{"queue":[` + queueA + `,` + queueB + `]}}}`
	if got := plain(x.config("/")); got != plain(want) {
		t.Errorf("configuration is %s, want %s", got, want)
	}
	empty := newTarget(t)
	if diff := cmp.Diff(empty.dump(), x.dump()); strings.Contains(x.dump(), "htb") {
		t.Errorf("the kernel still holds what the union left out:\n%s", diff)
	}
	// The whole configuration in two parts is the whole configuration.
	if err := union(x.upd("/", hntes("95"))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config, x.config("/")); diff != "" {
		t.Errorf("configuration (-set +union_replace):\n%s", diff)
	}
}

func check28(t *testing.T) {
	x := loaded(t)
	config, before := x.config("/"), x.dump()
	leaf := mustPath(t, "/qos/queues/queue[name=te-n]/config/queue-id")
	native := &gnmi.Update{Path: &gnmi.Path{Origin: "cli"}, Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_AsciiVal{AsciiVal: "hostname r1"}}}
	oc := &gnmi.Update{Path: &gnmi.Path{Origin: "openconfig", Elem: leaf.GetElem()}, Val: ietf("4")}
	for _, req := range []*gnmi.SetRequest{
		{Update: []*gnmi.Update{oc, native}}, {Replace: []*gnmi.Update{oc}, Update: []*gnmi.Update{native}}, {UnionReplace: []*gnmi.Update{oc, native}},
	} {
		wantCode(t, x.set(req), codes.InvalidArgument)
	}
	if diff := cmp.Diff(config+before, x.config("/")+x.dump()); diff != "" {
		t.Errorf("configuration and kernel (-before +after):\n%s", diff)
	}
	// The same origin spelled and left out is one origin.
	wantCode(t, x.set(&gnmi.SetRequest{Update: []*gnmi.Update{oc, {Path: leaf, Val: ietf("4")}}}), codes.OK)
}

func check29(t *testing.T) {
	t.Run("leaf-lists", setChecks(29))
	t.Run("kinds of values", kindsOfValues)
}

func kindsOfValues(t *testing.T) {
	x := newTarget(t)
	leaf, entry := mustPath(t, "/qos/queues/queue[name=a]/config/queue-id"), mustPath(t, "/qos/queues/queue[name=a]")
	for _, c := range []struct {
		name string
		path *gnmi.Path
		val  *gnmi.TypedValue
		code codes.Code
	}{
		{"JSON scalar", leaf, &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonVal{JsonVal: []byte("4")}}, codes.OK},
		{"JSON subtree", entry, &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonVal{JsonVal: []byte(`{"config":{"name":"a","queue-id":4}}`)}}, codes.OK},
		{"JSON_IETF scalar", leaf, ietf("4"), codes.OK},
		{"unsigned", leaf, &gnmi.TypedValue{Value: &gnmi.TypedValue_UintVal{UintVal: 4}}, codes.OK},
		{"signed", leaf, &gnmi.TypedValue{Value: &gnmi.TypedValue_IntVal{IntVal: 4}}, codes.OK},
		{"negative", leaf, &gnmi.TypedValue{Value: &gnmi.TypedValue_IntVal{IntVal: -4}}, codes.InvalidArgument},
		{"ASCII", leaf, &gnmi.TypedValue{Value: &gnmi.TypedValue_AsciiVal{AsciiVal: "4"}}, codes.Unimplemented},
		{"none", leaf, nil, codes.InvalidArgument},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := x.set(x.request("delete /qos")); err != nil {
				t.Fatal(err)
			}
			wantCode(t, x.set(&gnmi.SetRequest{Update: []*gnmi.Update{{Path: c.path, Val: c.val}}}), c.code)
			if got := x.config("/qos/queues/queue[name=a]/config/queue-id"); c.code == codes.OK && got != "4" {
				t.Errorf("queue-id %q, want 4", got)
			}
		})
	}
}

func check30(t *testing.T) {
	x := loaded(t)
	s := x.subscribe(t, list(gnmi.SubscriptionList_STREAM, &gnmi.Subscription{Mode: gnmi.SubscriptionMode_ON_CHANGE, Path: mustPath(t, "/qos")}))
	s.untilSync()
	config, dump := x.config("/"), x.dump()
	x.agent.InjectFault(func(step string) error { return fmt.Errorf("%w: the kernel would change: %s", errInjected, step) })
	err := x.set(x.request("update / " + hntes("95")))
	x.agent.InjectFault(nil)
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(config+dump, x.config("/")+x.dump()); diff != "" {
		t.Errorf("after the second Set (-first +second):\n%s", diff)
	}
	if err := x.set(x.request("update /qos/queues/queue[name=te-y]/config/queue-id 5")); err != nil {
		t.Fatal(err)
	}
	for path := range s.change() {
		if !strings.Contains(path, "te-y") {
			t.Errorf("the second Set sent a change of %s", path)
		}
	}
}

func check34(t *testing.T) {
	x := newTarget(t)
	with := func(role string, id *gnmi_ext.Uint128) *gnmi.SetRequest {
		m := &gnmi_ext.MasterArbitration{ElectionId: id}
		if role != "" {
			m.Role = &gnmi_ext.Role{Id: role}
		}
		req := x.request("update /qos/queues/queue[name=a]/config/queue-id " + fmt.Sprint(id.GetLow()))
		req.Extension = []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_MasterArbitration{MasterArbitration: m}}}
		return req
	}
	wantCode(t, x.set(with("", &gnmi_ext.Uint128{Low: 5})), codes.OK)
	err := x.set(with("", &gnmi_ext.Uint128{Low: 4}))
	wantCode(t, err, codes.PermissionDenied)
	if err == nil || !strings.Contains(err.Error(), "low:5") {
		t.Errorf("the error %v does not name the highest election id", err)
	}
	if got := x.config("/qos/queues/queue[name=a]/config/queue-id"); got != "5" {
		t.Errorf("queue-id %s after a Set that was refused, want 5", got)
	}
	wantCode(t, x.set(with("other", &gnmi_ext.Uint128{Low: 1})), codes.OK)
	wantCode(t, x.set(with("", &gnmi_ext.Uint128{Low: 5})), codes.OK)
	wantCode(t, x.set(with("", &gnmi_ext.Uint128{High: 1})), codes.OK)
	wantCode(t, x.set(with("", &gnmi_ext.Uint128{Low: 99})), codes.PermissionDenied)
	wantCode(t, x.set(with("", nil)), codes.InvalidArgument)
	wantCode(t, x.set(&gnmi.SetRequest{}), codes.OK)
	// Without operations it announces a new master.
	announce := with("", &gnmi_ext.Uint128{High: 2})
	announce.Update = nil
	wantCode(t, x.set(announce), codes.OK)
	wantCode(t, x.set(with("", &gnmi_ext.Uint128{High: 1})), codes.PermissionDenied)
}
