package alpha

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/services/alpha/online"
)

// onlineMetrics are of what is found while flows go on.
type onlineMetrics struct {
	records, repeated, outside, displaced, refused, left prometheus.Counter

	missed prometheus.Gauge
	pairs  *prometheus.GaugeVec
	began  *prometheus.CounterVec
	alarm  prometheus.Histogram
}

// nowStates are the states of pairs as metrics name them.
var nowStates = []string{"unidentified", "known", "in-circuit"}

func newOnlineMetrics(f promauto.Factory) *onlineMetrics {
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: "millrace_services_alpha_online_" + name, Help: help})
	}
	m := &onlineMetrics{
		records:   counter("records_total", "Flow records summed while they came."),
		repeated:  counter("repeated_batches_total", "Flow batches that the bus delivered again, and that were summed before."),
		outside:   counter("outside_total", "Flow records not summed: they ended before alpha.online.memory.horizon, or in the future."),
		displaced: counter("displaced_total", "Counters taken from one flow for another, because all of alpha.online.memory.flows were in use."),
		refused:   counter("refused_total", "Flow records, or whole batches, that could not be read."),
		left:      counter("left_total", "Alpha flows of pairs that were left to the nightly run, because too many pairs were alpha at once."),
		missed: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_services_alpha_online_missed_bytes",
			Help: "Most that a flow can have sent in an interval without its being counted; 0 while there is a counter for every flow.",
		}),
		pairs: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millrace_services_alpha_online_pairs",
			Help: "Pairs that are alpha now, by state: unidentified, known, in-circuit.",
		}, []string{"state"}),
		began: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_alpha_online_began_total",
			Help: "Pairs that became alpha, by state: unidentified (an alarm), known, in-circuit.",
		}, []string{"state"}),
		alarm: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "millrace_services_alpha_online_alarm_seconds",
			Help:    "Time from the arrival of the record that made a pair alpha to its event.",
			Buckets: []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30},
		}),
	}
	m.show(nil)
	for _, state := range nowStates {
		m.began.WithLabelValues(state)
	}
	return m
}

// show has the number of pairs by state.
func (m *onlineMetrics) show(pairs map[string]int) {
	for _, state := range nowStates {
		m.pairs.WithLabelValues(state).Set(float64(pairs[state]))
	}
}

// count adds what a detector has counted since the counts were as before.
func (m *onlineMetrics) count(before *online.Counts, d *online.Detector) {
	now := d.Counts()
	m.records.Add(float64(now.Records - before.Records))
	m.repeated.Add(float64(now.Repeated - before.Repeated))
	m.outside.Add(float64(now.Outside - before.Outside))
	m.displaced.Add(float64(now.Displaced - before.Displaced))
	m.missed.Set(float64(d.Missed()))
	*before = now
}
