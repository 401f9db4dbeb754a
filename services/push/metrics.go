package push

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	transitions *prometheus.CounterVec
	commits     *prometheus.CounterVec
	readings    *prometheus.CounterVec
	drift       *prometheus.GaugeVec
	unreadable  prometheus.Gauge
	plans       prometheus.Gauge
}

// newMetrics registers with r; a nil r counts without being shown.
func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	return &metrics{
		transitions: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_push_transitions_total",
			Help: "Change sets that entered a state, by state.",
		}, []string{"state"}),
		commits: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_push_commits_total",
			Help: "Commits sent to routers, by router and result: applied, refused, lost.",
		}, []string{"router", "result"}),
		readings: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_push_readings_total",
			Help: "Readings of routers after their change set, by result: as it should be, differs, not judged.",
		}, []string{"result"}),
		unreadable: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_services_push_unreadable_records",
			Help: "Records of change sets in etcd that cannot be read.",
		}),
		plans: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_services_push_plans_bytes",
			Help: "Size of the plans and diffs of all change sets in etcd, compressed, when they were last counted; see push.keep.",
		}),
		drift: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millrace_services_push_drift",
			Help: "Whether a router differed from what change sets left on it when it was last read, by router.",
		}, []string{"router"}),
	}
}
