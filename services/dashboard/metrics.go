package dashboard

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	refused  *prometheus.CounterVec
	events   prometheus.Counter
	invalid  prometheus.Counter
	watchers prometheus.Gauge
	lagging  prometheus.Counter
}

// newMetrics registers with r; a nil r counts without being shown.
func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	return &metrics{
		refused: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_dashboard_refused_requests_total",
			Help: "Requests refused because of who seemed to send them.",
		}, []string{"reason"}),
		events: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_services_dashboard_events_total",
			Help: "Events taken from the bus, redelivered ones not counted.",
		}),
		invalid: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_services_dashboard_invalid_events_total",
			Help: "Messages of the event topic that were no event.",
		}),
		watchers: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_services_dashboard_watchers",
			Help: "Event streams open now.",
		}),
		lagging: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_services_dashboard_lagging_watchers_total",
			Help: "Event streams ended because their reader was too slow.",
		}),
	}
}
