package vpn

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

const prefix = "millrace_services_vpn_"

type metrics struct {
	connected            *prometheus.GaugeVec
	invalid              *prometheus.CounterVec
	installs, failures   *prometheus.CounterVec
	changes, unpublished prometheus.Counter
	version, outdated    prometheus.Gauge
	policyInvalid        prometheus.Gauge
}

// newMetrics registers with r; nil registers nowhere.
func newMetrics(r prometheus.Registerer, c *Component) *metrics {
	f := promauto.With(r)
	if r != nil {
		r.MustRegister(newCollector(c))
	}
	gauge := func(name, help string) prometheus.Gauge {
		return f.NewGauge(prometheus.GaugeOpts{Name: prefix + name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: prefix + name, Help: help})
	}
	perPE := func(name, help string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, []string{"pe"})
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + "leader", Help: "1 at the replica that follows the policy file."}, c.leader.Gauge)
	return &metrics{
		connected: f.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "pe_connected", Help: "1 while the PE's agent answers."}, []string{"pe"}),
		invalid: f.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "invalid_flows_total", Help: "Invalid flows that a PE reported, by reason; they are ignored.",
		}, []string{"pe", "reason"}),
		installs:      perPE("installs_total", "Weights installed on the PE."),
		failures:      perPE("failures_total", "Requests to the PE's agent that failed."),
		changes:       counter("changes_total", "Changes of weights made here."),
		unpublished:   counter("unpublished_flows_total", "Samples of flows that were not published because of bus errors."),
		version:       gauge("version", "Number of the weights in force."),
		outdated:      gauge("pes_outdated", "PEs that do not have the weights in force."),
		policyInvalid: gauge("policy_invalid", "1 while the policy is invalid and the last weights stay in force."),
	}
}

// collector has the flows of the last round.
type collector struct {
	c              *Component
	flow           map[string]*prometheus.Desc
	fairness, jain *prometheus.Desc
}

func newCollector(c *Component) *collector {
	out := &collector{
		c: c, flow: map[string]*prometheus.Desc{},
		fairness: prometheus.NewDesc(prefix+"fairness_ratio", "Weighted fairness index F of all active VPN flows over the last second.", nil, nil),
		jain:     prometheus.NewDesc(prefix+"jain_ratio", "Jain's fairness index of all active VPN flows over the last second.", nil, nil),
	}
	for name, help := range map[string]string{
		"flow_throughput_bytes_per_second": "Throughput of a VPN flow in the last second.", "flow_fair_share_bytes_per_second": "Fair share of a VPN flow.",
		"flow_window_packets": "Window of a VPN flow.", "flow_rtt_seconds": "Smoothed round-trip time of a VPN flow.",
		"flow_loss_ratio": "Loss events per packet of a VPN flow.", "flow_queue_bytes": "Queue of a VPN flow at the ingress PE.",
		"flow_drops_total": "Packets dropped at the queue limit of a VPN flow.", "flow_weight": "Weight of a VPN flow.",
		"flow_controlled": "0 while the far PE does not answer and the VPN flow is not controlled.",
	} {
		out.flow[name] = prometheus.NewDesc(prefix+name, help, []string{"vpn", "ingress", "egress"}, nil)
	}
	return out
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.flow {
		out <- d
	}
	out <- c.fairness
	out <- c.jain
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	c.c.mu.Lock()
	last := c.c.last
	c.c.mu.Unlock()
	for _, f := range last.flows {
		for name, v := range map[string]float64{
			"flow_throughput_bytes_per_second": f.GetThroughput() / 8, "flow_fair_share_bytes_per_second": f.GetFairShare() / 8, "flow_window_packets": f.GetWindow(),
			"flow_rtt_seconds": f.GetRttSeconds(), "flow_loss_ratio": f.GetLoss(), "flow_queue_bytes": float64(f.GetQueue()),
			"flow_drops_total": float64(f.GetDrops()), "flow_weight": f.GetWeight(), "flow_controlled": controlled(f),
		} {
			kind := prometheus.GaugeValue
			if name == "flow_drops_total" {
				kind = prometheus.CounterValue
			}
			out <- prometheus.MustNewConstMetric(c.flow[name], kind, v, f.GetVpn(), f.GetIngress(), f.GetEgress())
		}
	}
	if len(last.flows) > 0 {
		out <- prometheus.MustNewConstMetric(c.fairness, prometheus.GaugeValue, last.measure.GetFairness())
		out <- prometheus.MustNewConstMetric(c.jain, prometheus.GaugeValue, last.measure.GetJain())
	}
}

func controlled(f *vpnv1.Flow) float64 {
	if f.GetPhase() == "no-feedback" {
		return 0
	}
	return 1
}
