package topology

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	reachable *prometheus.GaugeVec
	failures  *prometheus.CounterVec
	published *prometheus.CounterVec
	nodes     *prometheus.GaugeVec
	links     *prometheus.GaugeVec
	seconds   prometheus.Histogram
}

// newMetrics registers with r; a nil r counts without being shown.
func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	device, area := []string{"device"}, []string{"area"}
	return &metrics{
		reachable: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millrace_collectors_topology_reachable",
			Help: "1 if the device answered the last reading.",
		}, device),
		failures: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_collectors_topology_failures_total",
			Help: "Readings of the device that failed.",
		}, device),
		published: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_collectors_topology_published_total",
			Help: "Snapshots published, because something changed or the last one was old.",
		}, area),
		nodes: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millrace_collectors_topology_nodes",
			Help: "Routers in the area's link-state database.",
		}, area),
		links: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millrace_collectors_topology_links",
			Help: "Directed links in the area's link-state database, those not answered too.",
		}, area),
		seconds: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "millrace_collectors_topology_reading_seconds",
			Help:    "How long one reading of all routers took.",
			Buckets: prometheus.ExponentialBuckets(0.01, 4, 7),
		}),
	}
}
