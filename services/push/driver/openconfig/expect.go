package openconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/millrace/millrace/internal/configentry"
)

// Expectation is what a router's state must show once some entries are its config.
type Expectation struct {
	// Queues are the queues each port must have.
	Queues map[string][]string
	// Tunnels must be up.
	Tunnels []string
	// Rules are the sequence numbers each filter must have installed.
	Rules map[string][]uint32
	// Circuits must carry frames, both ways.
	Circuits []string
}

// Expect derives the expectation from the intended config.
func Expect(intended map[string]string) (Expectation, error) {
	e := Expectation{Queues: map[string][]string{}, Rules: map[string][]uint32{}}
	queues := map[string][]string{}
	for _, path := range slices.Sorted(maps.Keys(intended)) {
		kind, _, key, _ := configentry.Of(path)
		var err error
		switch kind {
		case configentry.SchedulerPolicy:
			queues[key], err = queuesOf(intended[path])
		case configentry.ForwardingPolicy:
			e.Rules[key], err = rulesOf(intended[path])
		case configentry.Tunnel:
			e.Tunnels = append(e.Tunnels, key)
		case configentry.Circuits:
			e.Circuits = append(e.Circuits, key)
		}
		if err != nil {
			return e, fmt.Errorf("read %s: %w", path, err)
		}
	}
	for path, body := range intended {
		if kind, _, key, _ := configentry.Of(path); kind == configentry.QosInterface {
			name, err := schedulerOf(body)
			if err != nil {
				return e, fmt.Errorf("read %s: %w", path, err)
			}
			if name != "" { // an interface may have classifiers or policers only
				e.Queues[key] = queues[name]
			}
		}
	}
	return e, nil
}

func queuesOf(body string) ([]string, error) {
	var v struct {
		Schedulers struct {
			Scheduler []struct {
				Inputs struct {
					Input []struct {
						Config struct{ Queue string }
					}
				}
			}
		}
	}
	err := json.Unmarshal([]byte(body), &v)
	var out []string
	for _, s := range v.Schedulers.Scheduler {
		for _, i := range s.Inputs.Input {
			out = append(out, i.Config.Queue)
		}
	}
	slices.Sort(out)
	return out, err
}

func rulesOf(body string) ([]uint32, error) {
	var v struct {
		Rules struct {
			Rule []struct {
				Sequence uint32 `json:"sequence-id"`
			}
		}
	}
	err := json.Unmarshal([]byte(body), &v)
	var out []uint32
	for _, r := range v.Rules.Rule {
		out = append(out, r.Sequence)
	}
	return out, err
}

func schedulerOf(body string) (string, error) {
	var v struct {
		Output struct {
			Policy struct {
				Config struct{ Name string }
			} `json:"scheduler-policy"`
		}
	}
	err := json.Unmarshal([]byte(body), &v)
	return v.Output.Policy.Config.Name, err
}
