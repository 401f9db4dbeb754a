// Package monitor is what every process shows of itself beside the counters of its parts: which of its dependencies
// are ready, and profiles.
//
// In: the functions that ask dependencies. Out: a metric, the page /ready, and the pages of pprof for clients on
// this host. Next: Prometheus, a supervisor's probe, an operator with `go tool pprof`.
package monitor

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Dependency is something without which requests fail.
type Dependency struct {
	Name string
	// Ask returns why it does not do its work, or nil.
	Ask func(context.Context) error
}

// patience is how long all dependencies together may take to answer.
const patience = 2 * time.Second

// Dependencies are those of a process; the function is called at each question.
type Dependencies func() []Dependency

// Ask asks all at once, and returns their answers in order.
func (d Dependencies) Ask(ctx context.Context) ([]Dependency, []error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all := d()
	answers := make([]error, len(all))
	var asked sync.WaitGroup
	for i, one := range all {
		asked.Go(func() { answers[i] = one.Ask(ctx) })
	}
	asked.Wait()
	return all, answers
}

// without are those that are not named.
func (d Dependencies) without(names []string) Dependencies {
	return func() []Dependency {
		return slices.DeleteFunc(slices.Clone(d()), func(one Dependency) bool { return slices.Contains(names, one.Name) })
	}
}

// ServeHTTP answers a probe: a line for each dependency, and 503 where one is not ready. Those that the query names by
// exclude, once or several times, are not asked, as with Kubernetes' own /readyz.
func (d Dependencies) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	all, answers := d.without(r.URL.Query()["exclude"]).Ask(r.Context())
	for _, err := range answers {
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			break
		}
	}
	for i, one := range all {
		if answers[i] != nil {
			fmt.Fprintf(w, "%s: %v\n", one.Name, answers[i])
			continue
		}
		fmt.Fprintf(w, "%s: ok\n", one.Name)
	}
	if len(all) == 0 {
		fmt.Fprintln(w, "ok")
	}
}

var readyDesc = prometheus.NewDesc("millrace_internal_monitor_dependency_ready",
	"1 while the dependency answers and does its work, asked at each scrape; 0 while it does not.", []string{"dependency"}, nil)

// Describe implements prometheus.Collector.
func (d Dependencies) Describe(out chan<- *prometheus.Desc) { out <- readyDesc }

// Collect implements prometheus.Collector.
func (d Dependencies) Collect(out chan<- prometheus.Metric) {
	all, answers := d.Ask(context.Background())
	for i, one := range all {
		ready := 1.0
		if answers[i] != nil {
			ready = 0
		}
		out <- prometheus.MustNewConstMetric(readyDesc, prometheus.GaugeValue, ready, one.Name)
	}
}
