// Package storm has a crowd of clients request circuits while the leader of etcd and the replicas of the circuit
// service are killed, and counts what came of it.
//
// Replicas are `millrace serve circuits`, as many as the scenario says, on an etcd of several members, each in a
// process of its own. They reach no bus. What is judged are the clients' answers, and every record that was ever
// written to etcd, counted second by second: not what a replica says of its book.
//
// In: a scenario with a storm, and the routers and links between which circuits are requested. Out: a qos.Result.
// Next: `millrace lab run`.
package storm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/millrace/millrace/lab/experiments/qos"
	"github.com/millrace/millrace/scenario"
)

// Needed reports whether a scenario is one that only this package runs.
func Needed(s *scenario.Scenario) bool { return s.Storm != nil }

// Options of Run.
type Options struct {
	// Output is the folder for configurations, data and logs.
	Output   string
	Progress func(string)
}

// run is one run of a storm.
type run struct {
	Options
	scenario *scenario.Scenario
	cluster  *cluster
	requests []request
	outcomes []outcome
	crowd    crowd
	killed   struct{ replicas, leaders int }
	result   *qos.Result
}

// Run runs a storm once. The result is returned also when an expectation is not met; an error means that the storm
// could not be completed.
func Run(ctx context.Context, s *scenario.Scenario, o Options) (result *qos.Result, err error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	began := time.Now()
	if err := errors.Join(os.RemoveAll(o.Output), os.MkdirAll(o.Output, 0o755)); err != nil {
		return nil, fmt.Errorf("make output folder: %w", err)
	}
	start := began.Add(24 * time.Hour).Truncate(time.Second)
	r := &run{Options: o, scenario: s, requests: requests(s, start), result: &qos.Result{
		Scenario: s.Name, Description: s.Description, Scale: s.Scale, Started: began.UTC(), Skipped: map[string]string{}, Metrics: scenario.Metrics{},
	}}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.cluster, err = newCluster(s, o.Output); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.cluster.stop()) }()
	r.say("%d members of etcd and %d replicas of services/circuits begin on %s", s.Storm.Members, s.Storm.Replicas, r.cluster.host)
	if err := r.cluster.start(ctx); err != nil {
		return nil, err
	}
	if err := r.storm(ctx); err != nil {
		return nil, err
	}
	if err := r.judge(ctx, start); err != nil {
		return nil, err
	}
	r.result.Seconds = time.Since(began).Seconds()
	r.result.Judge(s)
	return r.result, nil
}

func (r *run) say(format string, args ...any) { r.Progress(fmt.Sprintf(format, args...)) }

func (r *run) metric(name string, value int) {
	r.result.Metrics["external/storm/"+name] = float64(value)
}
