package routeragent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"

	"github.com/millrace/millrace/services/routeragent/frr"
	"github.com/millrace/millrace/services/routeragent/oc"
)

// judge lets ygot, which had no part in writing it, read an answer.
func judge(t *testing.T, document string) {
	t.Helper()
	if err := oc.Unmarshal([]byte(document), &oc.Device{}); err != nil {
		t.Errorf("ygot cannot read it: %v", err)
	}
}

const (
	queueA  = `{"name":"a","config":{"name":"a","queue-id":1}}`
	queueB  = `{"name":"b","config":{"name":"b","queue-id":2}}`
	queues  = "/qos/queues"
	queueOf = "/qos/queues/queue[name=%s]"
)

// TestChecksOfSet runs each case on one target whose configuration is emptied in between.
func TestChecksOfSet(t *testing.T) {
	x := newTarget(t)
	start := `update /qos/queues {"openconfig-qos:queue":[` + queueA + `,` + queueB + `]}`
	for _, c := range []struct {
		name string
		// first is set before, then must answer code, and path must read want (module prefixes left out).
		first, then []string
		code        codes.Code
		path, want  string
	}{
		{name: "13 deletes before replaces before updates, whatever the message's order", first: []string{start},
			then: []string{"update /qos/queues/queue[name=a]/config/queue-id 7", "delete /qos/queues/queue[name=a]", "replace /qos/queues/queue[name=a]/config/queue-id 5"},
			path: "/qos/queues/queue[name=a]/config/queue-id", want: "7"},
		{name: "13 the last of two updates to one path stands",
			then: []string{"update /qos/queues/queue[name=a]/config/queue-id 7", "update /qos/queues/queue[name=a]/config/queue-id 8"},
			path: "/qos/queues/queue[name=a]/config/queue-id", want: "8"},
		{name: "14 an empty Set is OK", first: []string{start}, path: "/qos/queues/queue[name=a]/config/queue-id", want: "1"},
		{name: "15 deleting what is not there is OK", first: []string{start}, then: []string{"delete /qos/queues/queue[name=zz]"},
			path: "/qos/queues/queue[name=a]/config/queue-id", want: "1"},
		{name: "15 delete with a wildcard takes every entry", first: []string{start}, then: []string{"delete /qos/queues/queue[name=*]"}, path: queues},
		{name: "15 delete of a list without keys takes every entry", first: []string{start}, then: []string{"delete /qos/queues/queue"}, path: queues},
		{name: "16 delete of a container takes what is in it", first: []string{start}, then: []string{"delete /qos"}, path: "/qos"},
		{name: "16 state cannot be written", then: []string{`update /qos/queues/queue[name=a]/state/name "a"`}, code: codes.InvalidArgument},
		{name: "16 state in a body cannot be written", then: []string{`update /qos/queues/queue[name=a] {"state":{"name":"a"}}`}, code: codes.InvalidArgument},
		{name: "16 state cannot be deleted", then: []string{"delete /qos/queues/queue[name=a]/state"}, code: codes.InvalidArgument},
		{name: "17 update of a list's container keeps the others", first: []string{`update /qos/queues {"queue":[` + queueA + `]}`}, then: []string{`update /qos/queues {"queue":[` + queueB + `]}`},
			path: queues, want: `{"queue":[` + queueA + `,` + queueB + `]}`},
		{name: "18 replace of a list's container removes the others", first: []string{`update /qos/queues {"queue":[` + queueA + `]}`}, then: []string{`replace /qos/queues {"queue":[` + queueB + `]}`},
			path: queues, want: `{"queue":[` + queueB + `]}`},
		{name: "19 replace of a container unsets what it does not name", first: []string{start}, then: []string{`replace /qos/queues/queue[name=a]/config {"name":"a"}`},
			path: "/qos/queues/queue[name=a]", want: `{"config":{"name":"a"},"name":"a"}`},
		{name: "20 replace of a list entry by nothing", first: []string{start}, then: []string{"replace /qos/queues/queue[name=a] {}"}, code: codes.InvalidArgument},
		{name: "20 null is no value", then: []string{"update /qos/queues/queue[name=a]/config/queue-id null"}, code: codes.InvalidArgument},
		{name: "20 null in a body is no value", then: []string{`update /qos/queues/queue[name=a] {"config":{"name":"a","queue-id":null}}`}, code: codes.InvalidArgument},
		{name: "21 a write without the key", then: []string{"update /qos/queues/queue " + queueA}, code: codes.InvalidArgument},
		{name: "21 a write with a wildcard", then: []string{"replace /qos/queues/queue[name=*]/config/queue-id 1"}, code: codes.InvalidArgument},
		{name: "21 a key that differs in path and body", then: []string{"update /qos/queues/queue[name=b] " + queueA}, code: codes.InvalidArgument},
		{name: "22 a path the model lacks", then: []string{"update /qos/nonsense 1"}, code: codes.NotFound},
		{name: "22 a member the model lacks", then: []string{`update /qos/queues/queue[name=a] {"config":{"colour":"red"}}`}, code: codes.InvalidArgument},
		{name: "22 a value out of range", then: []string{"update /qos/queues/queue[name=a]/config/queue-id 256"}, code: codes.InvalidArgument},
		{name: "22 a value of another type", then: []string{`update /qos/queues/queue[name=a]/config/queue-id "one"`}, code: codes.InvalidArgument},
		{name: "22 a word the enumeration lacks", then: []string{`update /qos/scheduler-policies/scheduler-policy[name=p]/schedulers/scheduler[sequence=1]/config/te-qos-ext:priority-level "URGENT"`}, code: codes.InvalidArgument},
		{name: "22 a number where a string belongs", then: []string{"update /qos/queues/queue[name=a]/config/name 5"}, code: codes.InvalidArgument},
		{name: "22 broken JSON", then: []string{"update /qos {"}, code: codes.InvalidArgument},
		{name: "23 a dangling reference", then: []string{`update /qos/forwarding-groups/forwarding-group[name=g]/config/output-queue "none"`}, code: codes.InvalidArgument},
		{name: "23 a policy bound to an interface that does not exist", then: []string{`update /qos/interfaces/interface[interface-id=x] {"config":{"interface-id":"x"},"interface-ref":{"config":{"interface":"ge-z"}}}`}, code: codes.InvalidArgument},
		{name: "what OpenConfig has and the agent does not do is refused", then: []string{`update /qos/queue-management-profiles/queue-management-profile[name=red]/config/name "red"`}, code: codes.Unimplemented},
		{name: "what is trimmed from the schema is refused", then: []string{`update /system/config/hostname "x"`}, code: codes.Unimplemented},
		{name: "29 update of a leaf-list adds", first: []string{`update /defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=s]/config/prefix ["10.0.0.0/8"]`},
			then: []string{`update /defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=s]/config/prefix ["192.0.2.0/24"]`},
			path: "/defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=s]/config/prefix", want: `["10.0.0.0/8","192.0.2.0/24"]`},
		{name: "29 replace of a leaf-list replaces", first: []string{`update /defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=s]/config/prefix ["10.0.0.0/8"]`},
			then: []string{`replace /defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=s]/config/prefix ["192.0.2.0/24"]`},
			path: "/defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=s]/config/prefix", want: `["192.0.2.0/24"]`},
		{name: "keys with characters that paths escape", then: []string{`update /qos/queues {"queue":[{"name":"a]/b","config":{"name":"a]/b"}}]}`},
			path: queues, want: `{"queue":[{"config":{"name":"a]/b"},"name":"a]/b"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := x.set(x.request(append([]string{"delete /"}, c.first...)...)); err != nil {
				t.Fatal(err)
			}
			before := x.config("/")
			err := x.set(x.request(c.then...))
			wantCode(t, err, c.code)
			if c.code != codes.OK {
				if diff := cmp.Diff(before, x.config("/")); diff != "" {
					t.Errorf("a refused Set changed the configuration (-before +after):\n%s", diff)
				}
				return
			}
			want := c.want
			if strings.HasPrefix(want, "{\"queue\"") {
				want = strings.ReplaceAll(want, `{"name":"a","config":{"name":"a","queue-id":1}}`, `{"config":{"name":"a","queue-id":1},"name":"a"}`)
				want = strings.ReplaceAll(want, `{"name":"b","config":{"name":"b","queue-id":2}}`, `{"config":{"name":"b","queue-id":2},"name":"b"}`)
			}
			if got := strings.ReplaceAll(x.config(c.path), "openconfig-qos:", ""); got != want {
				t.Errorf("%s is %s, want %s", c.path, got, want)
			}
		})
	}
}

func TestCheck24And25AFailedSetLeavesNoTraceAtWhateverStepItFails(t *testing.T) {
	x := newTarget(t)
	if err := x.set(x.request("update / " + hntes("95"))); err != nil {
		t.Fatal(err)
	}
	config, before := x.config("/"), x.router.Dump()
	bad := x.request("update /qos/queues/queue[name=te-x]/config/queue-id 4", "update / "+hntes("80"), "update /qos/queues/queue[name=te-x]/config/queue-id 999")
	wantCode(t, x.set(bad), codes.InvalidArgument)
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
		if diff := cmp.Diff(before, x.router.Dump()); diff != "" {
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

func TestCheck25AnLSPThatFRRRefusesLeavesNoTrace(t *testing.T) {
	x := newTarget(t)
	before := x.router.Dump()
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
		if diff := cmp.Diff(before, x.router.Dump()); diff != "" || x.config("/qos") != "" {
			t.Errorf("kernel after %v (-before +after):\n%s", c.fault, diff)
		}
	}
}

func TestCheck26ResultsInOrder(t *testing.T) {
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

func TestCheck27UnionReplaceIsRefusedAloud(t *testing.T) {
	x := newTarget(t)
	u := x.upd("/qos", "{}")
	wantCode(t, x.set(&gnmi.SetRequest{UnionReplace: []*gnmi.Update{u}}), codes.Unimplemented)
	wantCode(t, x.set(&gnmi.SetRequest{UnionReplace: []*gnmi.Update{u}, Update: []*gnmi.Update{u}}), codes.InvalidArgument)
}

func TestCheck29KindsOfValues(t *testing.T) {
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

func TestCheck30TheSameSetTwiceChangesNothing(t *testing.T) {
	x := newTarget(t)
	if err := x.set(x.request("update / " + hntes("95"))); err != nil {
		t.Fatal(err)
	}
	config, dump := x.config("/"), x.router.Dump()
	x.agent.InjectFault(func(step string) error { return fmt.Errorf("%w: the kernel would change: %s", errInjected, step) })
	defer x.agent.InjectFault(nil)
	if err := x.set(x.request("update / " + hntes("95"))); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(config+dump, x.config("/")+x.router.Dump()); diff != "" {
		t.Errorf("after the second Set (-first +second):\n%s", diff)
	}
}

func TestCheck34Arbitration(t *testing.T) {
	x := newTarget(t)
	with := func(id *gnmi_ext.Uint128) *gnmi.SetRequest {
		return &gnmi.SetRequest{Extension: []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_MasterArbitration{MasterArbitration: &gnmi_ext.MasterArbitration{ElectionId: id}}}}}
	}
	wantCode(t, x.set(with(&gnmi_ext.Uint128{Low: 5})), codes.OK)
	wantCode(t, x.set(with(&gnmi_ext.Uint128{Low: 4})), codes.PermissionDenied)
	wantCode(t, x.set(with(&gnmi_ext.Uint128{Low: 5})), codes.OK)
	wantCode(t, x.set(with(&gnmi_ext.Uint128{High: 1})), codes.OK)
	wantCode(t, x.set(with(nil)), codes.InvalidArgument)
	wantCode(t, x.set(&gnmi.SetRequest{}), codes.OK)
}
