package flowstore

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	rows          *prometheus.CounterVec
	drops         *prometheus.CounterVec
	duplicates    prometheus.Counter
	insertErrors  *prometheus.CounterVec
	insertSeconds *prometheus.HistogramVec
}

const metricPrefix = "millrace_services_flowstore_"

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metricPrefix + "rows_total", Help: "Rows inserted, by table.",
		}, []string{"table"}),
		drops: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metricPrefix + "drops_total", Help: "Records or messages from the bus that were not stored, by topic and reason.",
		}, []string{"topic", "reason"}),
		duplicates: prometheus.NewCounter(prometheus.CounterOpts{
			Name: metricPrefix + "duplicate_batches_total", Help: "Batches that were delivered again and already stored.",
		}),
		insertErrors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metricPrefix + "insert_errors_total", Help: "Inserts that failed and are tried again, by table.",
		}, []string{"table"}),
		insertSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: metricPrefix + "insert_seconds", Help: "Duration of inserts, by table.", Buckets: prometheus.ExponentialBuckets(0.002, 2, 12),
		}, []string{"table"}),
	}
	for _, table := range []string{"flows", "telemetry", "vpn_flows"} {
		m.insertSeconds.WithLabelValues(table)
		m.insertErrors.WithLabelValues(table)
	}
	if reg != nil {
		reg.MustRegister(m.rows, m.drops, m.duplicates, m.insertErrors, m.insertSeconds)
	}
	return m
}
