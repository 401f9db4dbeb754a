package policy

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	plans   *prometheus.CounterVec
	skipped prometheus.Gauge
	broken  prometheus.Gauge
}

// newMetrics registers with r; a nil r counts without being shown.
func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	return &metrics{
		plans: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_policy_plans_total",
			Help: "Policies compiled, by result: compiled, failed.",
		}, []string{"result"}),
		skipped: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_services_policy_skipped_pairs",
			Help: "Pairs the last plan left out; `millrace policy plan` says why.",
		}),
		broken: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_services_policy_broken_files",
			Help: "Files of policies with errors, and names that several files have, when policies were last read: the log says which.",
		}),
	}
}
