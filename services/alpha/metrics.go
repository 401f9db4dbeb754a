package alpha

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	runs    *prometheus.CounterVec
	pairs   prometheus.Gauge
	changes *prometheus.CounterVec
	refused prometheus.Gauge
	sums    prometheus.Counter
	invalid prometheus.Counter
	seconds prometheus.Histogram
	judged  prometheus.Gauge
	online  *onlineMetrics

	mu sync.Mutex
	// found is the end of the window of which refused counts exporters.
	found time.Time
}

// newMetrics registers with r; a nil r counts without being shown.
func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	m := &metrics{
		runs: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_alpha_runs_total",
			Help: "Nightly runs by result: done, dry-run, failed.",
		}, []string{"result"}),
		pairs: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_services_alpha_pairs",
			Help: "Pairs in force, as of the last nightly run here or of the last 5 minutes.",
		}),
		changes: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_alpha_pair_changes_total",
			Help: "Pairs by what happened to them: added, refreshed, aged-out.",
		}, []string{"change"}),
		refused: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_services_alpha_refused_exporters",
			Help: "Exporters that the collection-quality gate refused in the last nightly run.",
		}),
		sums: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_services_alpha_sums_total",
			Help: "Flow sums above the threshold read from the flow store.",
		}),
		invalid: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_services_alpha_invalid_sums_total",
			Help: "Flow sums that could not be read and were left out.",
		}),
		judged: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_services_alpha_judged_until_timestamp_seconds",
			Help: "Time up to which nightly runs have judged flows, as Unix time, also those before this process started; 0: none has.",
		}),
		seconds: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "millrace_services_alpha_run_seconds",
			Help:    "How long a nightly run took.",
			Buckets: prometheus.ExponentialBuckets(0.1, 4, 8),
		}),
	}
	m.online = newOnlineMetrics(f)
	for _, change := range []string{"added", "refreshed", "aged-out"} {
		m.changes.WithLabelValues(change)
	}
	for _, result := range []string{"done", "dry-run", "failed"} {
		m.runs.WithLabelValues(result)
	}
	return m
}

// judgedUntil shows up to when runs have judged; zero: none has. Where that is later than the end of the last run here,
// another replica has made the last run, and shows whom it refused.
func (m *metrics) judgedUntil(end time.Time) {
	if !end.IsZero() {
		m.judged.Set(float64(end.Unix()))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if end.After(m.found) {
		m.refused.Set(0)
	}
}

// refusedUntil shows how many exporters a run refused whose window ends then.
func (m *metrics) refusedUntil(end time.Time, exporters int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.found = end
	m.refused.Set(float64(exporters))
}
