package main

import (
	"fmt"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
)

const ruleList = "/network-instances/network-instance[name=DEFAULT]/policy-forwarding/policies/policy[policy-id=te-in]"

// base is two queues on ge-b and a policy with one rule on ge-a; alpha is the weight of the first queue.
func base(alpha int) string {
	queue := func(list, name, config string) string {
		return fmt.Sprintf(`%q:[{"name":"te-alpha","config":{"name":"te-alpha",%s}},{"name":"te-beta","config":{"name":"te-beta",%s}}]`,
			list, strings.ReplaceAll(config, "%", name+"alpha"), strings.ReplaceAll(config, "%", name+"beta"))
	}
	scheduler := func(n int, q string, weight int) string {
		return fmt.Sprintf(`{"sequence":%d,"config":{"sequence":%d},"inputs":{"input":[{"id":"te-%s","config":{"id":"te-%s","input-type":"QUEUE","queue":"te-%s","weight":"%d"}}]}}`, n, n, q, q, q, weight)
	}
	return `{"openconfig-qos:qos":{"queues":{"queue":[{"name":"te-alpha","config":{"name":"te-alpha","queue-id":1}},{"name":"te-beta","config":{"name":"te-beta","queue-id":0}}]},
	"forwarding-groups":{` + queue("forwarding-group", "te-", `"output-queue":"%"`) + `},
	"scheduler-policies":{"scheduler-policy":[{"name":"te-2q","config":{"name":"te-2q"},"schedulers":{"scheduler":[` + scheduler(1, "alpha", alpha) + "," + scheduler(2, "beta", 100-alpha) + `]}}]},
	"interfaces":{"interface":[{"interface-id":"ge-b","config":{"interface-id":"ge-b"},"interface-ref":{"config":{"interface":"ge-b"}},"output":{"scheduler-policy":{"config":{"name":"te-2q"}}}}]}},
	"openconfig-network-instance:network-instances":{"network-instance":[{"name":"DEFAULT","config":{"name":"DEFAULT"},"policy-forwarding":{
	"policies":{"policy":[` + policy([]pair{{0, 0}}, true) + `]},
	"interfaces":{"interface":[{"interface-id":"ge-a","config":{"interface-id":"ge-a","apply-forwarding-policy":"te-in"},"interface-ref":{"config":{"interface":"ge-a"}}}]}}}]}}`
}

// pair i of generation g: another generation is another destination.
type pair struct{ i, generation int }

func (p pair) source() string { return fmt.Sprintf("10.%d.%d.0/24", p.i>>8, p.i&255) }

func (p pair) destination() string {
	return fmt.Sprintf("%d.%d.%d.0/24", 20+p.generation, p.i>>8, p.i&255)
}

// manyPairs are the first n pairs; of every hundred the first is of a generation of its own.
func manyPairs(n, generation int) []pair {
	out := make([]pair, n)
	for i := range out {
		if out[i].i = i; i%100 == 0 {
			out[i].generation = generation
		}
	}
	return out
}

// policy has a rule for each pair, addresses inline or in sets of their own.
func policy(pairs []pair, inline bool) string {
	rules := make([]string, len(pairs))
	for i, p := range pairs {
		rules[i] = rule(i+1, p, inline)
	}
	return `{"policy-id":"te-in","config":{"policy-id":"te-in","type":"MATCH_ACTION_POLICY"},"rules":{"rule":[` + strings.Join(rules, ",") + `]}}`
}

func rule(sequence int, p pair, inline bool) string {
	match := fmt.Sprintf(`"source-address":%q,"destination-address":%q`, p.source(), p.destination())
	if !inline {
		match = fmt.Sprintf(`"source-address-prefix-set":"te-src-%d","destination-address-prefix-set":"te-dst-%d"`, p.i, p.i)
	}
	return fmt.Sprintf(`{"sequence-id":%d,"config":{"sequence-id":%d},"ipv4":{"config":{%s}},"action":{"forwarding":{"config":{"forwarding-action":"openconfig-policy-forwarding:FORWARD","qos-forwarding-group":"te-alpha"}}}}`,
		sequence, sequence, match)
}

// request is a Set as services/push sends it: a replace per unit.
func request(pairs []pair, inline bool) (*gnmi.SetRequest, error) {
	req := &gnmi.SetRequest{}
	if !inline {
		for _, p := range pairs {
			for side, prefix := range map[string]string{"src": p.source(), "dst": p.destination()} {
				if err := addSet(req, side, p.i, prefix); err != nil {
					return nil, err
				}
			}
		}
	}
	return req, add(req, ruleList, policy(pairs, inline))
}

func addSet(req *gnmi.SetRequest, side string, i int, prefix string) error {
	name := fmt.Sprintf("te-%s-%d", side, i)
	return add(req, "/defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name="+name+"]", fmt.Sprintf(`{"name":%q,"config":{"name":%q,"prefix":[%q]}}`, name, name, prefix))
}

func add(req *gnmi.SetRequest, path, value string) error {
	p, err := ygot.StringToStructuredPath(path)
	req.Replace = append(req.Replace, &gnmi.Update{Path: p, Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(value)}}})
	return err
}

func weight(alpha int) (*gnmi.SetRequest, error) {
	req := &gnmi.SetRequest{}
	return req, add(req, "/qos/scheduler-policies/scheduler-policy[name=te-2q]/schedulers/scheduler[sequence=1]/inputs/input[id=te-alpha]/config/weight", fmt.Sprintf(`"%d"`, alpha))
}
