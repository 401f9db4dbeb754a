package driver

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/millrace/millrace/internal/ocunit"
)

// Expectation is what a router's state must show once it holds some units.
type Expectation struct {
	// Queues are the queues each port must have.
	Queues map[string][]string
	// Tunnels must be up.
	Tunnels []string
	// Rules are the sequence numbers each filter must have installed.
	Rules map[string][]uint32
	// Other are the units that are not OpenConfig's; their drivers know what follows from them.
	Other map[string]string
}

// Expect reads the expectation out of the units a router shall hold.
func Expect(units map[string]string) (Expectation, error) {
	e := Expectation{Queues: map[string][]string{}, Rules: map[string][]uint32{}, Other: map[string]string{}}
	queues := map[string][]string{}
	for _, path := range slices.Sorted(maps.Keys(units)) {
		kind, _, key, known := ocunit.Of(path)
		if !known {
			e.Other[path] = units[path]
		}
		var err error
		switch kind {
		case ocunit.SchedulerPolicy:
			queues[key], err = queuesOf(units[path])
		case ocunit.ForwardingPolicy:
			e.Rules[key], err = rulesOf(units[path])
		case ocunit.Tunnel:
			e.Tunnels = append(e.Tunnels, key)
		}
		if err != nil {
			return e, fmt.Errorf("read %s: %w", path, err)
		}
	}
	for path, unit := range units {
		if kind, _, key, _ := ocunit.Of(path); kind == ocunit.QosInterface {
			name, err := schedulerOf(unit)
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

func queuesOf(unit string) ([]string, error) {
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
	err := json.Unmarshal([]byte(unit), &v)
	var out []string
	for _, s := range v.Schedulers.Scheduler {
		for _, i := range s.Inputs.Input {
			out = append(out, i.Config.Queue)
		}
	}
	slices.Sort(out)
	return out, err
}

func rulesOf(unit string) ([]uint32, error) {
	var v struct {
		Rules struct {
			Rule []struct {
				Sequence uint32 `json:"sequence-id"`
			}
		}
	}
	err := json.Unmarshal([]byte(unit), &v)
	var out []uint32
	for _, r := range v.Rules.Rule {
		out = append(out, r.Sequence)
	}
	return out, err
}

func schedulerOf(unit string) (string, error) {
	var v struct {
		Output struct {
			Policy struct {
				Config struct{ Name string }
			} `json:"scheduler-policy"`
		}
	}
	err := json.Unmarshal([]byte(unit), &v)
	return v.Output.Policy.Config.Name, err
}
