package routeragent_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
)

const (
	queueA = `{"name":"a","config":{"name":"a","queue-id":1}}`
	queueB = `{"name":"b","config":{"name":"b","queue-id":2}}`
	queues = "/qos/queues"
	// ruleOne is a rule of a policy that a case makes for itself.
	ruleOne = "/network-instances/network-instance[name=DEFAULT]/policy-forwarding/policies/policy[policy-id=p]/rules/rule[sequence-id=1]"
	start   = `update /qos/queues {"openconfig-qos:queue":[` + queueA + `,` + queueB + `]}`
)

// setCase is one Set on a target whose configuration was emptied.
type setCase struct {
	number int
	name   string
	// first is set before, then must answer code, and path must read want (module prefixes left out).
	first, then []string
	code        codes.Code
	path, want  string
}

var setCases = []setCase{
	{number: 13, name: "deletes before replaces before updates, whatever the message's order", first: []string{start},
		then: []string{"update /qos/queues/queue[name=a]/config/queue-id 7", "delete /qos/queues/queue[name=a]", "replace /qos/queues/queue[name=a]/config/queue-id 5"},
		path: "/qos/queues/queue[name=a]/config/queue-id", want: "7"},
	{number: 13, name: "the last of two updates to one path stands",
		then: []string{"update /qos/queues/queue[name=a]/config/queue-id 7", "update /qos/queues/queue[name=a]/config/queue-id 8"},
		path: "/qos/queues/queue[name=a]/config/queue-id", want: "8"},
	{number: 14, name: "an empty Set is OK", first: []string{start}, path: "/qos/queues/queue[name=a]/config/queue-id", want: "1"},
	{number: 15, name: "deleting what is not there is OK", first: []string{start}, then: []string{"delete /qos/queues/queue[name=zz]"},
		path: "/qos/queues/queue[name=a]/config/queue-id", want: "1"},
	{number: 15, name: "delete with a wildcard takes every entry", first: []string{start}, then: []string{"delete /qos/queues/queue[name=*]"}, path: queues},
	{number: 15, name: "delete of a list without keys takes every entry", first: []string{start}, then: []string{"delete /qos/queues/queue"}, path: queues},
	{number: 15, name: "delete with wildcards for names takes what can be deleted", first: []string{start}, then: []string{"delete /qos/.../queue-id"},
		path: queues, want: `{"queue":[{"config":{"name":"a"},"name":"a"},{"config":{"name":"b"},"name":"b"}]}`},
	{number: 15, name: "delete of every child", first: []string{start}, then: []string{"delete /qos/*"}, path: "/qos"},
	{number: 15, name: "delete with one of two keys", first: []string{`update /network-instances/network-instance[name=DEFAULT] {"config":{"name":"DEFAULT"}}`},
		then: []string{"delete /network-instances/network-instance[name=DEFAULT]/protocols/protocol[identifier=OSPF]"},
		path: "/network-instances/network-instance[name=DEFAULT]/config/name", want: `"DEFAULT"`},
	{number: 16, name: "delete of a container takes what is in it", first: []string{start}, then: []string{"delete /qos"}, path: "/qos"},
	{number: 16, name: "state cannot be written", then: []string{`update /qos/queues/queue[name=a]/state/name "a"`}, code: codes.InvalidArgument},
	{number: 16, name: "state in a body cannot be written", then: []string{`update /qos/queues/queue[name=a] {"state":{"name":"a"}}`}, code: codes.InvalidArgument},
	{number: 16, name: "state cannot be deleted", then: []string{"delete /qos/queues/queue[name=a]/state"}, code: codes.InvalidArgument},
	{number: 17, name: "update of a list's container keeps the others", first: []string{`update /qos/queues {"queue":[` + queueA + `]}`}, then: []string{`update /qos/queues {"queue":[` + queueB + `]}`},
		path: queues, want: `{"queue":[` + queueA + `,` + queueB + `]}`},
	{number: 18, name: "replace of a list's container removes the others", first: []string{`update /qos/queues {"queue":[` + queueA + `]}`}, then: []string{`replace /qos/queues {"queue":[` + queueB + `]}`},
		path: queues, want: `{"queue":[` + queueB + `]}`},
	{number: 19, name: "replace of a container unsets what it does not name", first: []string{start}, then: []string{`replace /qos/queues/queue[name=a]/config {"name":"a"}`},
		path: "/qos/queues/queue[name=a]", want: `{"config":{"name":"a"},"name":"a"}`},
	{number: 19, name: "replace of a container returns what it does not name to its default", first: []string{
		start, `update /qos/forwarding-groups/forwarding-group[name=g]/config/output-queue "a"`,
		`update /network-instances/network-instance[name=DEFAULT] {"config":{"name":"DEFAULT"},"policy-forwarding":{"policies":{"policy":[{"policy-id":"p","config":{"policy-id":"p","type":"MATCH_ACTION_POLICY"}}]}}}`,
		`update ` + ruleOne + ` {"config":{"sequence-id":1},"ipv4":{"config":{"source-address":"10.0.0.0/8"}},"action":{"forwarding":{"config":{"forwarding-action":"FORWARD","qos-forwarding-group":"g"}}}}`},
		then: []string{`replace ` + ruleOne + `/action/forwarding/config {"qos-forwarding-group":"g"}`},
		path: ruleOne + "/action/forwarding/config/forwarding-action", want: `"openconfig-policy-forwarding:FORWARD"`},
	{number: 19, name: "and deletes what has no default", first: []string{start}, then: []string{`replace /qos/queues/queue[name=a]/config {"name":"a"}`},
		path: "/qos/queues/queue[name=a]/config/queue-id", want: ""},
	{number: 20, name: "replace of a list entry by nothing", first: []string{start}, then: []string{"replace /qos/queues/queue[name=a] {}"}, code: codes.InvalidArgument},
	{number: 20, name: "null is no value", then: []string{"update /qos/queues/queue[name=a]/config/queue-id null"}, code: codes.InvalidArgument},
	{number: 20, name: "null in a body is no value", then: []string{`update /qos/queues/queue[name=a] {"config":{"name":"a","queue-id":null}}`}, code: codes.InvalidArgument},
	{number: 21, name: "a write without the key", then: []string{"update /qos/queues/queue " + queueA}, code: codes.InvalidArgument},
	{number: 21, name: "a write with a wildcard", then: []string{"replace /qos/queues/queue[name=*]/config/queue-id 1"}, code: codes.InvalidArgument},
	{number: 21, name: "a key that differs in path and body", then: []string{"update /qos/queues/queue[name=b] " + queueA}, code: codes.InvalidArgument},
	{number: 22, name: "a path the model lacks", then: []string{"update /qos/nonsense 1"}, code: codes.NotFound},
	{number: 22, name: "a member the model lacks", then: []string{`update /qos/queues/queue[name=a] {"config":{"colour":"red"}}`}, code: codes.InvalidArgument},
	{number: 22, name: "a value out of range", then: []string{"update /qos/queues/queue[name=a]/config/queue-id 256"}, code: codes.InvalidArgument},
	{number: 22, name: "a value of another type", then: []string{`update /qos/queues/queue[name=a]/config/queue-id "one"`}, code: codes.InvalidArgument},
	{number: 22, name: "a word the enumeration lacks", then: []string{`update /qos/scheduler-policies/scheduler-policy[name=p]/schedulers/scheduler[sequence=1]/config/te-qos-ext:priority-level "URGENT"`}, code: codes.InvalidArgument},
	{number: 22, name: "a number where a string belongs", then: []string{"update /qos/queues/queue[name=a]/config/name 5"}, code: codes.InvalidArgument},
	{number: 22, name: "broken JSON", then: []string{"update /qos {"}, code: codes.InvalidArgument},
	{number: 23, name: "a dangling reference", then: []string{`update /qos/forwarding-groups/forwarding-group[name=g]/config/output-queue "none"`}, code: codes.InvalidArgument, want: "/qos/forwarding-groups/forwarding-group[name=g]/config/output-queue"},
	{number: 23, name: "a policy bound to an interface that does not exist", then: []string{`update /qos/interfaces/interface[interface-id=x] {"config":{"interface-id":"x"},"interface-ref":{"config":{"interface":"ge-z"}}}`}, code: codes.InvalidArgument},
	{number: 23, name: "an unsatisfied when: a queue without the input type QUEUE", first: []string{start},
		then: []string{`update /qos/scheduler-policies/scheduler-policy[name=p]/schedulers/scheduler[sequence=1]/inputs/input[id=a]/config/queue "a"`},
		code: codes.InvalidArgument, want: "/inputs/input[id=a]/config/queue"},
	{number: 23, name: "an unsatisfied when: a class in a policy of the default type", first: []string{start, `update /qos/forwarding-groups/forwarding-group[name=g]/config/output-queue "a"`},
		then: []string{`update ` + ruleOne + `/action/forwarding/config/qos-forwarding-group "g"`}, code: codes.InvalidArgument, want: "qos-forwarding-group"},
	{number: 23, name: "an unsatisfied when: an explicit path that is computed", then: []string{`update /network-instances/network-instance[name=DEFAULT]/mpls/lsps/constrained-path {
		"named-explicit-paths":{"named-explicit-path":[{"name":"e","config":{"name":"e"}}]},
		"tunnels":{"tunnel":[{"name":"te-t","config":{"name":"te-t","type":"P2P"},"p2p-tunnel-attributes":{"p2p-primary-path":{"p2p-primary-path":[{"name":"e","config":{"name":"e","explicit-path-name":"e"}}]}}}]}}`},
		code: codes.InvalidArgument, want: "explicit-path-name"},
	{number: 22, name: "what OpenConfig has and the agent does not do is refused", then: []string{`update /qos/forwarding-groups/forwarding-group[name=g]/config/fabric-priority 1`}, code: codes.Unimplemented},
	{number: 22, name: "what is trimmed from the schema is refused", then: []string{`update /system/config/hostname "x"`}, code: codes.Unimplemented},
	{number: 29, name: "update of a leaf-list adds", first: []string{`update /defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=s]/config/prefix ["10.0.0.0/8"]`},
		then: []string{`update /defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=s]/config/prefix ["192.0.2.0/24"]`},
		path: "/defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=s]/config/prefix", want: `["10.0.0.0/8","192.0.2.0/24"]`},
	{number: 29, name: "replace of a leaf-list replaces", first: []string{`update /defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=s]/config/prefix ["10.0.0.0/8"]`},
		then: []string{`replace /defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=s]/config/prefix ["192.0.2.0/24"]`},
		path: "/defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=s]/config/prefix", want: `["192.0.2.0/24"]`},
	{number: 17, name: "keys with characters that paths escape", then: []string{`update /qos/queues {"queue":[{"name":"a]/b","config":{"name":"a]/b"}}]}`},
		path: queues, want: `{"queue":[{"config":{"name":"a]/b"},"name":"a]/b"}]}`},
}

// setChecks runs the cases of one check on one target.
func setChecks(number int) func(*testing.T) {
	return func(t *testing.T) {
		x, ran := newTarget(t), 0
		for _, c := range setCases {
			if c.number == number {
				ran++
				t.Run(c.name, func(t *testing.T) { x.runSet(t, c) })
			}
		}
		if ran == 0 {
			t.Error("no cases")
		}
	}
}

func (x *target) runSet(t *testing.T, c setCase) {
	if err := x.set(x.request(append([]string{"delete /"}, c.first...)...)); err != nil {
		t.Fatal(err)
	}
	before, dump := x.config("/"), x.dump()
	err := x.set(x.request(c.then...))
	wantCode(t, err, c.code)
	if c.code != codes.OK {
		if diff := cmp.Diff(before+dump, x.config("/")+x.dump()); diff != "" {
			t.Errorf("a refused Set changed something (-before +after):\n%s", diff)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("the error %v does not name %s", err, c.want)
		}
		namesAnOperation(t, err)
		return
	}
	if got := plain(x.config(c.path)); got != plain(c.want) {
		t.Errorf("%s is %s, want %s", c.path, got, c.want)
	}
}

var fieldOfOperation = regexp.MustCompile(`^(delete|replace|update|union_replace)\[\d+\] /`)

// namesAnOperation wants a detail with operation and path, as every Set that fails has.
func namesAnOperation(t *testing.T, err error) {
	t.Helper()
	fields := violations(err)
	for _, f := range fields {
		if !fieldOfOperation.MatchString(f) {
			t.Errorf("the detail %q names no operation and path", f)
		}
	}
	if len(fields) == 0 {
		t.Errorf("the error %v has no detail", err)
	}
}

// plain leaves out module prefixes and puts members of queues in the order that answers have.
func plain(s string) string {
	s = strings.ReplaceAll(s, `{"name":"a","config":{"name":"a","queue-id":1}}`, `{"config":{"name":"a","queue-id":1},"name":"a"}`)
	s = strings.ReplaceAll(s, `{"name":"b","config":{"name":"b","queue-id":2}}`, `{"config":{"name":"b","queue-id":2},"name":"b"}`)
	return strings.ReplaceAll(s, "openconfig-qos:", "")
}
