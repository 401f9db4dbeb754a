package push

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	transitions *prometheus.CounterVec
	commits     *prometheus.CounterVec
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
	}
}
