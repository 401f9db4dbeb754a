package routeragent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/internal/testkit/await"
)

// policed classifies by DSCP on ge-a and polices one class in two colours, one in three.
const policed = `{"openconfig-qos:qos":{
 "queues":{"queue":[{"name":"te-be","config":{"name":"te-be","queue-id":0}},{"name":"te-ef","config":{"name":"te-ef","queue-id":1}}]},
 "forwarding-groups":{"forwarding-group":[
  {"name":"te-be","config":{"name":"te-be","output-queue":"te-be"}},{"name":"te-ef","config":{"name":"te-ef","output-queue":"te-ef"}}]},
 "classifiers":{"classifier":[{"name":"te-in-4","config":{"name":"te-in-4","type":"IPV4"},"terms":{"term":[
  {"id":"10","config":{"id":"10"},"conditions":{"ipv4":{"config":{"dscp-set":[46]}}},"actions":{"config":{"target-group":"te-ef"}}},
  {"id":"20","config":{"id":"20"},"conditions":{"ipv4":{"config":{"dscp-set":[0]}}},"actions":{"config":{"target-group":"te-be"}}}]}}]},
 "scheduler-policies":{"scheduler-policy":[{"name":"te-police-1","config":{"name":"te-police-1"},"schedulers":{"scheduler":[
  {"sequence":1,"config":{"sequence":1,"type":"ONE_RATE_TWO_COLOR"},"inputs":{"input":[{"id":"te-be","config":{"id":"te-be","input-type":"QUEUE","queue":"te-be"}}]},
   "one-rate-two-color":{"config":{"cir":"800000","bc":20000,"queuing-behavior":"POLICE"},"exceed-action":{"config":{"drop":true}}}},
  {"sequence":2,"config":{"sequence":2,"type":"TWO_RATE_THREE_COLOR"},"inputs":{"input":[{"id":"te-ef","config":{"id":"te-ef","input-type":"QUEUE","queue":"te-ef"}}]},
   "two-rate-three-color":{"config":{"cir":"800000","pir":"1600000","bc":20000,"be":40000},"exceed-action":{"config":{"drop":false}},"violate-action":{"config":{"drop":true}}}}]}}]},
 "interfaces":{"interface":[{"interface-id":"ge-a","config":{"interface-id":"ge-a"},"interface-ref":{"config":{"interface":"ge-a"}},
  "input":{"classifiers":{"classifier":[{"type":"IPV4","config":{"type":"IPV4","name":"te-in-4"}}]},"scheduler-policy":{"config":{"name":"te-police-1"}}}}]}}}`

// profiled polices what a rule matches.
const profiled = `{
"openconfig-qos:qos":{"scheduler-policies":{"scheduler-policy":[{"name":"te-profile-c1","config":{"name":"te-profile-c1"},"schedulers":{"scheduler":[
  {"sequence":1,"config":{"sequence":1,"type":"ONE_RATE_TWO_COLOR"},
   "one-rate-two-color":{"config":{"cir":"800000","bc":20000,"queuing-behavior":"POLICE"},"exceed-action":{"config":{"drop":true}}}}]}}]}},
"openconfig-network-instance:network-instances":{"network-instance":[{"name":"DEFAULT","config":{"name":"DEFAULT"},"policy-forwarding":{
 "policies":{"policy":[{"policy-id":"te-in","config":{"policy-id":"te-in","type":"MATCH_ACTION_POLICY"},"rules":{"rule":[
  {"sequence-id":1,"config":{"sequence-id":1},"ipv4":{"config":{"destination-address":"198.51.100.0/24"}},"action":{"config":{"te-qos-ext:policer":"te-profile-c1"}}}]}}]},
 "interfaces":{"interface":[{"interface-id":"ge-a","config":{"interface-id":"ge-a","apply-forwarding-policy":"te-in"},"interface-ref":{"config":{"interface":"ge-a"}}}]}}}]}}`

// What a rule's policer says it let through has arrived, and the rest has not.
func TestCountersOfAPolicerThatARuleNamesAreTrue(t *testing.T) {
	x := newTarget(t)
	if err := x.set(x.request("update / " + profiled)); err != nil {
		t.Fatal(err)
	}
	x.router.In("ip", "route", "add", "198.51.100.0/24", "via", "10.0.2.2")
	receive := x.sink(t)
	const sent, payload, ip = 400, 958, 986
	x.send(t, sent, payload)
	const at = "/qos/scheduler-policies/scheduler-policy[name=te-profile-c1]/schedulers/scheduler[sequence=1]/one-rate-two-color/state/"
	await.True(t, "the policer has seen every packet", func() bool { return x.counter(t, at+"conforming-pkts")+x.counter(t, at+"exceeding-pkts") >= sent })
	conforming, exceeding := x.counter(t, at+"conforming-pkts"), x.counter(t, at+"exceeding-pkts")
	if received := receive(conforming); conforming != received || conforming+exceeding != sent || exceeding == 0 {
		t.Errorf("policer counts %d conforming and %d exceeding; %d of %d arrived", conforming, exceeding, received, sent)
	}
	if c, e := x.counter(t, at+"conforming-octets"), x.counter(t, at+"exceeding-octets"); c != conforming*ip || e != exceeding*ip {
		t.Errorf("octets %d and %d for %d and %d packets of %d", c, e, conforming, exceeding, ip)
	}
}

func TestCountersOfTermsAndPolicersAreTrue(t *testing.T) {
	x := newTarget(t)
	if err := x.set(x.request("update / " + policed)); err != nil {
		t.Fatal(err)
	}
	x.router.In("ip", "route", "add", "198.51.100.0/24", "via", "10.0.2.2")
	receive := x.sink(t)
	const sent, payload, ip = 400, 958, 986 // octets of IP packets: a policer and a rule count those
	x.send(t, sent, payload)
	const input = "/qos/interfaces/interface[interface-id=ge-a]/input"
	const term, be = input + "/classifiers/classifier[type=IPV4]/terms/term[id=20]/state/", input + "/scheduler-policy/schedulers/scheduler[sequence=1]/state/"
	await.True(t, "term 20 has matched every packet", func() bool { return x.counter(t, term+"matched-packets") >= sent })
	if got := x.counter(t, term+"matched-packets"); got != sent {
		t.Errorf("matched-packets of term 20 is %d, but %d were sent", got, sent)
	}
	if got := x.counter(t, input+"/classifiers/classifier[type=IPV4]/terms/term[id=10]/state/matched-packets"); got != 0 {
		t.Errorf("matched-packets of term 10 is %d, but nothing of DSCP 46 was sent", got)
	}
	conforming, exceeding := x.counter(t, be+"conforming-pkts"), x.counter(t, be+"exceeding-pkts")
	if received := receive(conforming); conforming != received || conforming+exceeding != sent || exceeding == 0 {
		t.Errorf("policer counts %d conforming and %d exceeding; %d of %d arrived", conforming, exceeding, received, sent)
	}
	if got := x.counter(t, be+"conforming-octets"); got != conforming*ip {
		t.Errorf("conforming-octets %d for %d packets of %d", got, conforming, ip)
	}
	// Two colours have no third one.
	if got, err := x.get(gnmi.GetRequest_STATE, be+"violating-pkts"); err == nil {
		t.Errorf("violating-pkts of a policer of two colours is %s", got)
	}
	if got := x.counter(t, strings.Replace(be, "=1]", "=2]", 1)+"violating-pkts"); got != 0 {
		t.Errorf("violating-pkts of the other policer is %d", got)
	}
}

// A queue that drains slowly has, between two looks of tc, a length between theirs.
func TestTheLengthOfAQueueIsWhatWaitsThere(t *testing.T) {
	x := newTarget(t)
	x.stop()
	line := x.cfg.Interfaces["ge-b"]
	line.Speed = 1e5 // 20 kB take 1.6 s
	x.cfg.Interfaces["ge-b"] = line
	x.start()
	config := strings.ReplaceAll(strings.ReplaceAll(hntes("95"), `"1187500"`, `"20000"`), `"62500"`, `"20000"`)
	if err := x.set(x.request("update / " + config)); err != nil {
		t.Fatal(err)
	}
	x.sink(t)
	const queue = "/qos/interfaces/interface[interface-id=ge-b]/output/queues/queue[name=te-alpha]/state/"
	if got := x.counter(t, queue+"avg-queue-len"); got != 0 {
		t.Fatalf("%d octets wait in a queue to which nothing was sent", got)
	}
	// The leaf of alpha's class is the longest queue; HTB itself has the sum of all.
	waiting := func() (octets uint64) {
		var qdiscs []struct {
			Kind    string
			Backlog uint64
		}
		if err := json.Unmarshal([]byte(x.router.In("tc", "-s", "-j", "qdisc", "show", "dev", "ge-b")), &qdiscs); err != nil {
			t.Fatal(err)
		}
		for _, q := range qdiscs {
			if q.Kind != "htb" {
				octets = max(octets, q.Backlog)
			}
		}
		return octets
	}
	x.send(t, 1, 958)
	await.True(t, "one has left: the next hop's address is known", func() bool { return x.counter(t, queue+"transmit-pkts") == 1 })
	sent := uint64(1)
	await.True(t, "a length that is not 0 is read", func() bool {
		const burst = 18
		x.send(t, burst, 958)
		sent += burst
		await.True(t, "all have come", func() bool { return x.counter(t, rulePath+"/state/matched-pkts") >= sent })
		most := waiting()
		got := x.counter(t, queue+"avg-queue-len")
		least := waiting()
		if got > most || got < least {
			t.Fatalf("%d octets wait, says the agent; tc says %d before and %d after it", got, most, least)
		}
		return got > 0
	})
}
