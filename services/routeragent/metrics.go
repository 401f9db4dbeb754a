package routeragent

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/monitor"
	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/kernel"
)

type metrics struct {
	calls      *prometheus.CounterVec
	reconciled *prometheus.CounterVec
	refused    *prometheus.CounterVec
	ended      *prometheus.CounterVec
	closed     *prometheus.CounterVec
	unusable   *prometheus.GaugeVec
	drift      prometheus.GaugeFunc
}

func newMetrics(r prometheus.Registerer, drifted func() bool, ready monitor.Dependencies, queues queueCollector) *metrics {
	const ns = "millrace_services_routeragent"
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Name: "calls_total", Help: "gNMI calls by method and code."}, []string{"method", "code"}),
		reconciled: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Name: "reconciliations_total",
			Help: "Reconciliations outside of a Set, by result."}, []string{"result"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Name: "refused_calls_total",
			Help: "Calls refused, by reason: unauthenticated, no-role, role, no-such-call, calls, changes, rate, client-connections, memory."}, []string{"reason"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Name: "ended_streams_total",
			Help: "Open streams that were ended because their client may not make them any more, by reason: no-role, role."}, []string{"reason"}),
		closed: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Name: "closed_connections_total",
			Help: "Connections closed for want of room, by reason: address, total, refusals."}, []string{"reason"}),
		unusable: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: ns, Name: "files_refused",
			Help: "1 while changed files cannot be used, and those read before stay in force: users, roles."}, []string{"file"}),
		drift: prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: ns, Name: "drift", Help: "1 while the router differs from its configuration."}, func() float64 {
			if drifted() {
				return 1
			}
			return 0
		}),
	}
	if r != nil {
		r.MustRegister(m.calls, m.reconciled, m.refused, m.ended, m.closed, m.unusable, m.drift, queues, monitor.Dependencies(ready))
	}
	return m
}

// Describe registers what an agent counts with r, for the page that lists all metrics.
func Describe(r prometheus.Registerer) {
	newMetrics(r, func() bool { return false }, func() []monitor.Dependency { return nil }, queueCollector{})
}

// queueCollector reads the queues' counters from the kernel at each scrape. There are as many series as the
// configuration has queues, which the limits of the agent's configuration bound.
type queueCollector struct {
	plan   func() intent.Plan
	kernel *kernel.Kernel
}

var (
	perQueue    = []string{"interface", "queue"}
	descPackets = prometheus.NewDesc("millrace_services_routeragent_queue_packets_total", "Packets that the queue sent.", perQueue, nil)
	descBytes   = prometheus.NewDesc("millrace_services_routeragent_queue_bytes_total", "Octets that the queue sent.", perQueue, nil)
	descDrops   = prometheus.NewDesc("millrace_services_routeragent_queue_drops_total", "Packets that the queue dropped.", perQueue, nil)
	descBacklog = prometheus.NewDesc("millrace_services_routeragent_queue_backlog_bytes", "Octets in the queue now.", perQueue, nil)
)

// Describe implements prometheus.Collector.
func (q queueCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descPackets, descBytes, descDrops, descBacklog} {
		out <- d
	}
}

// Collect implements prometheus.Collector. Ports that cannot be read have no series.
func (q queueCollector) Collect(out chan<- prometheus.Metric) {
	if q.plan == nil {
		return
	}
	plan := q.plan()
	for name, port := range plan.Kernel.Ports {
		counters, err := q.kernel.PortCounters(name)
		if err != nil {
			continue
		}
		for _, queue := range port.Queues {
			c, ok := counters[queue.Class]
			if !ok {
				continue
			}
			labels := []string{plan.PortIDs[name], queue.Name}
			out <- prometheus.MustNewConstMetric(descPackets, prometheus.CounterValue, float64(c.Packets), labels...)
			out <- prometheus.MustNewConstMetric(descBytes, prometheus.CounterValue, float64(c.Octets), labels...)
			out <- prometheus.MustNewConstMetric(descDrops, prometheus.CounterValue, float64(c.Drops), labels...)
			out <- prometheus.MustNewConstMetric(descBacklog, prometheus.GaugeValue, float64(c.Backlog), labels...)
		}
	}
}
