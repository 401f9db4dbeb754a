package flow

import (
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const metricPrefix = "millrace_collectors_flow_"

type metrics struct {
	published   prometheus.Counter
	unpublished prometheus.Counter
	// topicMessages and topicDrops are by topic, and the latter by reason.
	topicMessages, topicDrops *prometheus.CounterVec
	fireflies                 prometheus.Counter
	fireflyDrops              *prometheus.CounterVec // by reason
}

func newMetrics(reg prometheus.Registerer, c *Component) *metrics {
	m := &metrics{
		published: prometheus.NewCounter(prometheus.CounterOpts{
			Name: metricPrefix + "published_records_total", Help: "Flow records given to the bus.",
		}),
		unpublished: prometheus.NewCounter(prometheus.CounterOpts{
			Name: metricPrefix + "unpublished_records_total", Help: "Flow records that the bus did not take before the collector was stopped.",
		}),
	}
	m.topicMessages = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: metricPrefix + "topic_messages_total", Help: "Messages read from a topic of another collector.",
	}, []string{"topic"})
	m.topicDrops = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: metricPrefix + "topic_drops_total", Help: "Messages of a topic that gave no flow record.",
	}, []string{"topic", "reason"})
	m.fireflies = prometheus.NewCounter(prometheus.CounterOpts{
		Name: metricPrefix + "fireflies_total", Help: "Fireflies given to the bus.",
	})
	m.fireflyDrops = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: metricPrefix + "firefly_drops_total", Help: "Fireflies not taken, those that the kernel had no room for, and those that the bus did not take before the collector was stopped.",
	}, []string{"reason"})
	if reg != nil {
		reg.MustRegister(m.published, m.unpublished, m.topicMessages, m.topicDrops, m.fireflies, m.fireflyDrops, qualityCollector{c})
	}
	return m
}

// qualityCollector shows the exporters' counters, which the table already keeps.
type qualityCollector struct{ c *Component }

var (
	perExporter   = []string{"exporter", "domain", "source"}
	descDatagram  = prometheus.NewDesc(metricPrefix+"datagrams_total", "Datagrams taken.", perExporter, nil)
	descRecords   = prometheus.NewDesc(metricPrefix+"records_total", "Flow records taken.", perExporter, nil)
	descLost      = prometheus.NewDesc(metricPrefix+"lost", "Missing by sequence number: packets in v9, records in v5 and IPFIX.", perExporter, nil)
	descSampling  = prometheus.NewDesc(metricPrefix+"sampling_rate", "One packet in this many is counted; 0 is unknown.", perExporter, nil)
	descUnknown   = prometheus.NewDesc(metricPrefix+"unknown_rate_records_total", "Flow records taken whose sampling rate was not known.", perExporter, nil)
	descDrops     = prometheus.NewDesc(metricPrefix+"drops_total", "Datagrams, sets or records dropped.", append(perExporter, "reason"), nil)
	descEvents    = prometheus.NewDesc(metricPrefix+"events_total", "Restarts, clock jumps and the like.", append(perExporter, "event"), nil)
	descReading   = prometheus.NewDesc(metricPrefix+"topic_reading", "1 while a topic is there and brokers answer, 0 otherwise.", []string{"topic"}, nil)
	descLag       = prometheus.NewDesc(metricPrefix+"topic_lag_messages", "Messages of the topic's partitions here that were not read yet.", []string{"topic"}, nil)
	descTopicLost = prometheus.NewDesc(metricPrefix+"topic_lost_messages_total", "Messages that the topic's brokers deleted before they were read.", []string{"topic"}, nil)
	descSocket    = prometheus.NewDesc(metricPrefix+"socket_drops_total", "Datagrams the kernel had no room for.", []string{"listen", "worker"}, nil)
)

// Describe implements prometheus.Collector.
func (q qualityCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descDatagram, descRecords, descLost, descSampling, descUnknown, descDrops, descEvents, descReading, descLag, descTopicLost, descSocket} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (q qualityCollector) Collect(out chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, n uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, n uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	for _, s := range slices.Concat(q.c.counts...) {
		counter(descSocket, s.drops.Load(), s.listen, strconv.Itoa(s.worker))
	}
	for _, s := range q.c.sources {
		reading := uint64(0)
		if s.reader.Reading() {
			reading = 1
		}
		gauge(descReading, reading, s.name)
		gauge(descLag, uint64(s.reader.Lag()), s.name)
		counter(descTopicLost, s.reader.Lost(), s.name)
	}
	for _, e := range q.c.table.Quality(time.Now()) {
		labels := []string{e.Exporter.String(), strconv.FormatUint(uint64(e.Domain), 10), e.Source.String()}
		counter(descDatagram, e.Datagrams, labels...)
		counter(descRecords, e.Records, labels...)
		counter(descUnknown, e.UnknownRate, labels...)
		gauge(descLost, e.Lost, labels...)
		gauge(descSampling, e.SamplingRate, labels...)
		for reason, n := range e.Drops {
			counter(descDrops, n, append(labels, reason)...)
		}
		for event, n := range e.Events {
			counter(descEvents, n, append(labels, event)...)
		}
	}
}
