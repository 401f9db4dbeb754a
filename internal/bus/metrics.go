package bus

import "github.com/prometheus/client_golang/prometheus"

// meter counts what passes; the same names whatever bus is underneath.
type meter struct {
	published   *prometheus.CounterVec
	delivered   *prometheus.CounterVec
	redelivered *prometheus.CounterVec
	lost        *prometheus.CounterVec
}

var lagDesc = prometheus.NewDesc("millrace_internal_bus_lag_messages",
	"Messages on the bus that this process's members of the group have not taken yet.",
	[]string{"topic", "group"}, nil)

var heldDesc = prometheus.NewDesc("millrace_internal_bus_held_bytes",
	"Memory of the messages that wait in this process for members of the group. A publisher of the in-process bus waits, or a Kafka partition is not fetched, where it reaches its bound.",
	[]string{"topic", "group"}, nil)

func newMeter() meter {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return meter{
		published:   counter("millrace_internal_bus_published_total", "Messages accepted by the bus.", "topic"),
		delivered:   counter("millrace_internal_bus_delivered_total", "Messages that a handler took.", "topic", "group"),
		redelivered: counter("millrace_internal_bus_redelivered_total", "Deliveries repeated because a handler returned an error.", "topic", "group"),
		lost:        counter("millrace_internal_bus_lost_total", "Messages that were gone before the group took them: deleted by the brokers after their retention, or in memory when the process stopped.", "topic", "group"),
	}
}

// joins makes the counters that are there with 0 before they count: an increase from nothing is none to Prometheus.
func (m meter) joins(topic, group string) { m.lost.WithLabelValues(topic, group) }

func (m meter) describe(out chan<- *prometheus.Desc) {
	m.published.Describe(out)
	m.delivered.Describe(out)
	m.redelivered.Describe(out)
	m.lost.Describe(out)
	out <- lagDesc
	out <- heldDesc
}

func (m meter) collect(out chan<- prometheus.Metric) {
	m.published.Collect(out)
	m.delivered.Collect(out)
	m.redelivered.Collect(out)
	m.lost.Collect(out)
}

func lagMetric(topic, group string, messages int64) prometheus.Metric {
	return prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, float64(messages), topic, group)
}

func heldMetric(topic, group string, bytes int) prometheus.Metric {
	return prometheus.MustNewConstMetric(heldDesc, prometheus.GaugeValue, float64(bytes), topic, group)
}
