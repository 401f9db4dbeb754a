package audit

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	written  prometheus.Counter
	waiting  prometheus.Gauge
	unmade   prometheus.Counter
	unlisted prometheus.Counter
	summed   prometheus.Counter
}

// newMetrics registers with r; a nil r counts without being shown.
func newMetrics(r prometheus.Registerer) *metrics {
	return &metrics{
		written: promauto.With(r).NewCounter(prometheus.CounterOpts{
			Name: "millrace_services_audit_records_total", Help: "Audit records written to etcd.",
		}),
		waiting: promauto.With(r).NewGauge(prometheus.GaugeOpts{
			Name: "millrace_services_audit_waiting_records", Help: "Audit records that wait to be written.",
		}),
		unmade: promauto.With(r).NewCounter(prometheus.CounterOpts{
			Name: "millrace_services_audit_refused_calls_total", Help: "Calls that were not made, because they could not be recorded.",
		}),
		unlisted: promauto.With(r).NewCounter(prometheus.CounterOpts{
			Name: "millrace_services_audit_unrecorded_refusals_total", Help: "Requests that were refused, and have no record because too many waited.",
		}),
		summed: promauto.With(r).NewCounter(prometheus.CounterOpts{
			Name: "millrace_services_audit_summed_refusals_total",
			Help: "Requests without a login that were refused, and logins that failed, beyond what these may take of the records in a day; one record has their number.",
		}),
	}
}
