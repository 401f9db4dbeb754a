package intent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// scheduler is one scheduler as JSON: leaves of its config, of its shaper (may be empty), and inputs as "queue weight".
func scheduler(sequence int, config, shaper string, inputs ...string) string {
	var in []string
	for _, i := range inputs {
		queue, weight, _ := strings.Cut(i, " ")
		in = append(in, fmt.Sprintf(`{"id":%q,"config":{"id":%q,"input-type":"QUEUE","queue":%q,"weight":%q}}`, queue, queue, queue, weight))
	}
	if config != "" {
		config = "," + config
	}
	if shaper != "" {
		shaper = `,"one-rate-two-color":{"config":{"queuing-behavior":"SHAPE",` + shaper + `}}`
	}
	return fmt.Sprintf(`{"sequence":%d,"config":{"sequence":%d%s}%s,"inputs":{"input":[%s]}}`, sequence, sequence, config, shaper, strings.Join(in, ","))
}

// portOf compiles one scheduler policy on a line of 100 Mbit/s.
func portOf(t *testing.T, schedulers ...string) kernel.Port {
	t.Helper()
	n, err := tree.FromJSON([]byte(`{"openconfig-qos:qos":{
		"scheduler-policies":{"scheduler-policy":[{"name":"te","config":{"name":"te"},"schedulers":{"scheduler":[` + strings.Join(schedulers, ",") + `]}}]},
		"interfaces":{"interface":[{"interface-id":"ge-b","config":{"interface-id":"ge-b"},"output":{"scheduler-policy":{"config":{"name":"te"}}}}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Compile(n, hardware, IDs{})
	if err != nil {
		t.Fatal(err)
	}
	return plan.Kernel.Ports["ge-b"]
}

func TestSchedulersBecomeRatesCeilingsPrioritiesAndQuanta(t *testing.T) {
	const high, low, equal = `"te-qos-ext:priority-level":"HIGH"`, `"te-qos-ext:priority-level":"LOW"`, `,"te-qos-ext:excess-sharing":"EQUAL"`
	for _, c := range []struct {
		name       string
		schedulers []string
		want       []string // name rate/ceil prio quantum
	}{
		{"GEANT table 2: LBE has no share and the lowest priority; the excess is shared equally (paper 004, section 4.1)",
			[]string{scheduler(1, high+equal, "", "nc 5", "ef 90", "be 5"), scheduler(2, low+equal, "", "lbe 0")},
			[]string{"be 5000000/0 0 1514", "ef 90000000/0 0 1514", "nc 5000000/0 0 1514", "lbe 8000/0 1 1514"}},
		{"by weight the quanta are in proportion",
			[]string{scheduler(1, high, "", "a 10", "b 30", "c 60")},
			[]string{"a 10000000/0 0 1514", "b 30000000/0 0 4542", "c 60000000/0 0 9084"}},
		{"a strict partition is a ceiling at the guarantee (paper 002, experiment 1)",
			[]string{scheduler(1, high, `"cir-pct":20`, "a 20"), scheduler(2, high, `"cir-pct":80`, "b 80")},
			[]string{"a 20000000/20000000 0 1514", "b 80000000/80000000 0 6056"}},
		{"a ceiling below the guarantee wins",
			[]string{scheduler(1, high, `"cir":"1000000"`, "be 60"), scheduler(2, low, "", "lbe 40")},
			[]string{"be 1000000/1000000 0 2271", "lbe 40000000/0 1 1514"}},
		{"a ceiling above the port speed is none",
			[]string{scheduler(1, high, `"cir":"200000000"`, "a 60")},
			[]string{"a 100000000/0 0 1514"}},
		{"STRICT inputs by weight, then weighted round robin without a guarantee (featureprofiles DP-1.10)",
			[]string{scheduler(0, `"priority":"STRICT"`, "", "af4 6", "nc1 7"), scheduler(1, "", "", "af3 64", "be1 16")},
			[]string{"nc1 8000/0 0 1514", "af4 8000/0 1 1514", "af3 8000/0 2 6056", "be1 8000/0 2 1514"}},
		{"a STRICT input goes before the others of its priority-level, whichever sequence comes first",
			[]string{scheduler(1, high, "", "a 10"), scheduler(2, high+`,"priority":"STRICT"`, "", "b 1")},
			[]string{"b 8000/0 0 1514", "a 8000/0 1 1514"}},
		{"no quantum below a packet, however unequal the weights",
			[]string{scheduler(1, high, "", "a 10000", "b 1")},
			[]string{"a 99990000/0 0 199980", "b 9999/0 0 1514"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, q := range portOf(t, c.schedulers...).Queues {
				got = append(got, fmt.Sprintf("%s %d/%d %d %d", q.Name, q.Rate, q.Ceil, q.Priority, q.Quantum))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("queues (-want +got):\n%s", diff)
			}
		})
	}
}

// The weights of STRICT inputs are an order, not parts of the port: no queue gets a buffer above the port's.
func TestNoQueueHasMoreBufferThanThePort(t *testing.T) {
	port := portOf(t, scheduler(0, `"priority":"STRICT"`, "", "af4 6", "nc1 7"))
	for _, q := range port.Queues {
		if q.Buffer > 1_250_000 {
			t.Errorf("queue %s has a buffer of %d bytes on a port of 1250000", q.Name, q.Buffer)
		}
	}
}
