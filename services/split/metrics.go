package split

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/state"
	splitv1 "github.com/millrace/millrace/proto/gen/millrace/split/v1"
)

type metrics struct {
	rounds   *prometheus.CounterVec
	ports    *prometheus.GaugeVec
	requests *prometheus.CounterVec
}

// newMetrics registers with r; a nil r counts without being shown.
func newMetrics(r prometheus.Registerer, leader *state.Leader) *metrics {
	f := promauto.With(r)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_services_split_leader",
		Help: "1 at the replica that requests change sets.",
	}, leader.Gauge)
	m := &metrics{
		rounds: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_split_rounds_total",
			Help: "Rounds of decisions over all ports, by result: done, failed.",
		}, []string{"result"}),
		ports: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millrace_services_split_ports",
			Help: "Ports of the policy in force, by the rule that decided about them last.",
		}, []string{"rule"}),
		requests: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_split_requests_total",
			Help: "Change sets requested, by result: taken, refused.",
		}, []string{"result"}),
	}
	for _, result := range []string{"done", "failed"} {
		m.rounds.WithLabelValues(result)
	}
	for _, result := range []string{"taken", "refused"} {
		m.requests.WithLabelValues(result)
	}
	return m
}

func (m *metrics) show(s *splitv1.StatusResponse) {
	m.rounds.WithLabelValues("done").Inc()
	m.ports.Reset()
	for _, p := range s.GetPorts() {
		m.ports.WithLabelValues(p.GetRule()).Inc()
	}
}
