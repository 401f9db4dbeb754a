package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	connected  *prometheus.GaugeVec
	failures   *prometheus.CounterVec
	counters   *prometheus.CounterVec
	unreadable *prometheus.CounterVec
	wrongTimes *prometheus.CounterVec
	own        prometheus.Gauge
}

// newMetrics registers with r; a nil r counts without being shown.
func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	device := []string{"device"}
	return &metrics{
		own: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_collectors_telemetry_own_devices",
			Help: "Routers that this replica reads, of those that it shares with others.",
		}),
		connected: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millrace_collectors_telemetry_connected",
			Help: "1 while counters of the device come in.",
		}, device),
		failures: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_collectors_telemetry_failures_total",
			Help: "Connections and streams that failed.",
		}, device),
		counters: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_collectors_telemetry_counters_total",
			Help: "Counter values published.",
		}, device),
		unreadable: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_collectors_telemetry_unreadable_total",
			Help: "Counter values dropped because path or value made no sense.",
		}, device),
		wrongTimes: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_collectors_telemetry_wrong_times_total",
			Help: "Notifications more than a day old or more than 10 min in the future, which got the time of their arrival: the router's clock is wrong.",
		}, device),
	}
}
