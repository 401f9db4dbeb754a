package routeragent

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	calls      *prometheus.CounterVec
	reconciled *prometheus.CounterVec
	drift      prometheus.GaugeFunc
}

func newMetrics(r prometheus.Registerer, drifted func() bool) *metrics {
	const ns = "millrace_services_routeragent"
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Name: "calls_total", Help: "gNMI calls by method and code."}, []string{"method", "code"}),
		reconciled: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Name: "reconciliations_total",
			Help: "Reconciliations outside of a Set, by result."}, []string{"result"}),
		drift: prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: ns, Name: "drift", Help: "1 while the router differs from its configuration."}, func() float64 {
			if drifted() {
				return 1
			}
			return 0
		}),
	}
	if r != nil {
		r.MustRegister(m.calls, m.reconciled, m.drift)
	}
	return m
}
