package peagent

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/services/peagent/datapath"
)

type metrics struct {
	requests, events, timeouts, errors prometheus.Counter
	reattached                         prometheus.Counter
	peerUpdates, refused, closed       *prometheus.CounterVec
	rolesRefused                       prometheus.Gauge
	leftOut                            *prometheus.GaugeVec
	fairness, jain                     prometheus.Gauge
}

const prefix = "millrace_services_peagent_"

// newMetrics registers with r; nil registers nowhere.
func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: prefix + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return f.NewGauge(prometheus.GaugeOpts{Name: prefix + name, Help: help})
	}
	return &metrics{
		requests: counter("requests_total", "Management packets sent."),
		events:   counter("loss_events_total", "Loss events that decreased a window."),
		timeouts: counter("timeouts_total", "Time-outs of management packets that decreased a window."),
		errors:   counter("errors_total", "System calls of the control loop that failed: a class not set, a packet not sent."),
		reattached: counter("reattached_ports_total",
			"Ports to which the agent attached again, because another interface had their name, or somebody had removed programs or scheduler."),
		peerUpdates: f.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "peer_updates_total", Help: "Updates of other PEs by result: accepted, stale, rejected.",
		}, []string{"result"}),
		refused: f.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "refused_requests_total",
			Help: "Requests refused because of who sent them, by reason: unknown-host and cross-origin on listen; no-role, role, no-such-call, calls, changes, rate, client-connections on control.",
		}, []string{"reason"}),
		closed: f.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "closed_connections_total", Help: "Connections to control closed for want of room, by reason: address, total, refusals.",
		}, []string{"reason"}),
		rolesRefused: gauge("roles_refused", "1 while the roles of a changed configuration cannot be used, and those read before stay in force."),
		leftOut: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: prefix + "prefixes_left_out", Help: "Prefixes of a VPN that its share of the datapath's tables has no room for; their packets are not shaped.",
		}, []string{"vpn"}),
		fairness: gauge("fairness_ratio", "Weighted fairness index F of the active VPN flows' throughput over the last second."),
		jain:     gauge("jain_ratio", "Jain's fairness index of the active VPN flows' throughput over the last second."),
	}
}

// collector reads the kernel's counters at each scrape.
type collector struct {
	agent   *Agent
	packets *prometheus.Desc
	flow    map[string]*prometheus.Desc
}

func newCollector(a *Agent) *collector {
	c := &collector{agent: a, flow: map[string]*prometheus.Desc{}}
	c.packets = prometheus.NewDesc(prefix+"management_packets_total", "Management packets of the eBPF programs, by result.", []string{"result"}, nil)
	for name, help := range map[string]string{
		"flow_bytes_total": "Octets of a VPN flow sent to the core.", "flow_packets_total": "Packets of a VPN flow sent to the core.",
		"flow_drops_total": "Packets dropped at the queue limit of a VPN flow.", "flow_window_packets": "Window of a VPN flow.",
		"flow_rtt_seconds": "Smoothed round-trip time of a VPN flow.", "flow_rate_bytes_per_second": "Rate that the window allows; 0 is no limit.",
		"flow_weight": "Weight of a VPN flow.", "flow_loss_ratio": "Loss events per packet of a VPN flow.",
	} {
		c.flow[name] = prometheus.NewDesc(prefix+name, help, []string{"vpn", "egress"}, nil)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	out <- c.packets
	for _, d := range c.flow {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	c.agent.counts(func(name string, n uint64) {
		out <- prometheus.MustNewConstMetric(c.packets, prometheus.CounterValue, float64(n), name)
	})
	for _, f := range c.agent.Flows() {
		for name, v := range map[string]float64{
			"flow_bytes_total": float64(f.Octets), "flow_packets_total": float64(f.Packets), "flow_drops_total": float64(f.Drops),
			"flow_window_packets": f.Window, "flow_rtt_seconds": f.SRTT, "flow_rate_bytes_per_second": f.Rate / 8, "flow_weight": f.Weight, "flow_loss_ratio": f.Loss,
		} {
			kind := prometheus.GaugeValue
			if name[len(name)-6:] == "_total" {
				kind = prometheus.CounterValue
			}
			out <- prometheus.MustNewConstMetric(c.flow[name], kind, v, f.VPN, f.Egress.String())
		}
	}
}

// counts reads the programs' counters, none once the agent is stopped.
func (a *Agent) counts(each func(name string, n uint64)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dp == nil {
		return
	}
	for i, name := range datapath.CounterNames {
		if n, err := a.dp.Count(i); err == nil {
			each(name, n)
		}
	}
}

// Describe registers what an agent counts with r, for the page that lists all metrics.
func Describe(r prometheus.Registerer) {
	newMetrics(r)
	r.MustRegister(newCollector(newAgent(Configuration{}, Dependencies{})))
}
