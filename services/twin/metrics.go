package twin

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	predictions *prometheus.CounterVec
	hops        prometheus.Counter
	seconds     prometheus.Histogram
}

// newMetrics registers with r; a nil r counts without being shown.
func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	return &metrics{
		predictions: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_twin_predictions_total",
			Help: "Predictions, by subject (scenario, plans) and result: done, refused, timeout, busy, canceled, failed.",
		}, []string{"subject", "result"}),
		hops: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_services_twin_packet_hops_total",
			Help: "Packets simulated, times the links they crossed.",
		}),
		seconds: f.NewHistogram(prometheus.HistogramOpts{
			Name: "millrace_services_twin_prediction_seconds", Buckets: prometheus.ExponentialBuckets(0.01, 4, 8),
			Help: "How long a prediction took, waiting for its turn included.",
		}),
	}
}
