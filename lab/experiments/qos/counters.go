package qos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/portcounters"
	"github.com/millrace/millrace/scenario"
)

// reading is all counters at one time. Names are the second and third part of metrics.
type reading struct {
	// agents is what routers count about ports, queues, policers and classifiers, over gNMI, as any collector would.
	agents scenario.Metrics
	// links is what the kernels count of every link, hosts' and wires' too.
	links scenario.Metrics
}

// read reads all counters.
func (m *Meter) read(ctx context.Context) (reading, error) {
	now := reading{agents: scenario.Metrics{}}
	for name, client := range m.routers {
		read := func(path string, into func([]byte) error) error { return readState(ctx, client, name, path, into) }
		if err := read("/qos/interfaces", func(raw []byte) error { return queueCounters(now.agents, name, raw) }); err != nil {
			return now, err
		}
		if err := read("/interfaces", func(raw []byte) error { return portCounters(now.agents, name, raw) }); err != nil {
			return now, err
		}
	}
	var err error
	now.links, err = m.lab.Counters(ctx)
	return now, err
}

// readState gets state; a path without data is no error.
func readState(ctx context.Context, client *gnmiclient.Client, router, path string, into func([]byte) error) error {
	raw, err := client.GetJSON(ctx, gnmi.GetRequest_STATE, path)
	if errors.Is(err, gnmiclient.ErrNoValue) || status.Code(err) == codes.NotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read counters of %s: %w", router, err)
	}
	text, err := configentry.Canonical(raw)
	if err == nil {
		err = into([]byte(text))
	}
	if err != nil {
		return fmt.Errorf("read counters of %s: %s: %w", router, path, err)
	}
	return nil
}

// leaves are a state container's leaves; counters are strings in RFC 7951.
type leaves map[string]any

// into adds every leaf that is a counter; te- is the prefix of names on routers, not of ours. By how much the length of
// a queue differs from one reading to the next means nothing.
func (l leaves) into(m scenario.Metrics, name string) {
	for leaf, value := range l {
		if leaf == portcounters.Length {
			continue
		}
		if n, err := strconv.ParseFloat(fmt.Sprint(value), 64); err == nil {
			m[name+"/"+strings.ReplaceAll(leaf, "-", "_")] += n
		}
	}
}

func queueCounters(m scenario.Metrics, router string, raw []byte) error {
	var v struct {
		Interface []struct {
			ID     string `json:"interface-id"`
			Output struct {
				Queues struct {
					Queue []struct {
						Name  string
						State leaves
					}
				}
			}
			Input struct {
				Classifiers struct {
					Classifier []struct {
						Terms struct {
							Term []struct {
								ID    string
								State leaves
							}
						}
					}
				}
				Policy struct {
					Schedulers struct {
						Scheduler []struct {
							Sequence any // a number, or its text where it was a list key
							State    leaves
						}
					}
				} `json:"scheduler-policy"`
			}
		}
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	for _, i := range v.Interface {
		at := router + ":" + i.ID + ":"
		for _, q := range i.Output.Queues.Queue {
			q.State.into(m, at+strings.TrimPrefix(q.Name, configentry.OwnedPrefix))
		}
		for _, s := range i.Input.Policy.Schedulers.Scheduler {
			s.State.into(m, fmt.Sprintf("%spolicer-%v", at, s.Sequence))
		}
		// A term of one number in two classifiers, for IPv4 and for MPLS, is one class: the sum.
		for _, c := range i.Input.Classifiers.Classifier {
			for _, t := range c.Terms.Term {
				delete(t.State, "id")
				t.State.into(m, at+"term-"+t.ID)
			}
		}
	}
	return nil
}

func portCounters(m scenario.Metrics, router string, raw []byte) error {
	var v struct {
		Interface []struct {
			Name  string
			State struct{ Counters leaves }
		}
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	for _, i := range v.Interface {
		i.State.Counters.into(m, router+":"+i.Name)
	}
	return nil
}
