package identity

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	logins, confirmed *prometheus.CounterVec
}

// newMetrics registers with r; a nil r counts without being shown.
func newMetrics(r prometheus.Registerer) *metrics {
	return &metrics{
		logins: promauto.With(r).NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_identity_logins_total",
			Help: "Logins, by method (password, link, provider, device) and result: done, refused, delayed, failed.",
		}, []string{"method", "result"}),
		confirmed: promauto.With(r).NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_identity_confirmations_total",
			Help: "Questions to the OpenID provider for people who are logged in, by result: confirmed, ended, failed.",
		}, []string{"result"}),
	}
}
