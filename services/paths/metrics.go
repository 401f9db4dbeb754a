package paths

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	snapshots *prometheus.CounterVec
	nodes     prometheus.Gauge
	links     prometheus.Gauge
	requests  *prometheus.CounterVec
	read      *prometheus.GaugeVec
}

// newMetrics registers with r; a nil r counts without being shown.
func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	return &metrics{
		snapshots: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_paths_snapshots_total",
			Help: "Topology snapshots taken from the bus, by result: taken, invalid.",
		}, []string{"result"}),
		nodes: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_services_paths_nodes",
			Help: "Routers in the topology that paths are computed on.",
		}),
		links: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_services_paths_links",
			Help: "Directed links in the topology that paths are computed on; only those the far end answers.",
		}),
		read: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millrace_services_paths_topology_timestamp_seconds",
			Help: "When the topology of the area that paths are computed on was read from routers, as Unix time.",
		}, []string{"area"}),
		requests: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_paths_requests_total",
			Help: "Path computations, by method (compute, ecmp) and result: found, none, invalid.",
		}, []string{"method", "result"}),
	}
}
