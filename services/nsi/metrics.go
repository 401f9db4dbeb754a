package nsi

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	requests, messages *prometheus.CounterVec
	leader             prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_nsi_requests_total", Help: "Requests by operation and answer: accepted, repeated, the error's id, unknown-host or cross-origin.",
		}, []string{"operation", "answer"}),
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_nsi_messages_total", Help: "Messages to requesters by result: delivered, failed (and sent again), given-up.",
		}, []string{"result"}),
		leader: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_services_nsi_leader", Help: "1 at the replica that does the work and sends messages.",
		}),
	}
	if r != nil {
		r.MustRegister(m.requests, m.messages, m.leader)
	}
	return m
}
