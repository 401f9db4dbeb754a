package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/rpc"
)

// remote is a service in another process, at all its addresses.
func (p *process) remote(name string) rpc.Remote {
	if p.failedOver == nil {
		p.failedOver = promauto.With(p.metrics).NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_cmd_failed_over_calls_total", Help: "Calls to a service that failed at this address of endpoints and went on to another one.",
		}, []string{"service", "address"})
	}
	all := p.cfg.Endpoints[name]
	if len(all) > 1 {
		for _, a := range all {
			p.failedOver.WithLabelValues(name, a) // 0 from the start
		}
	}
	return rpc.Remote{
		Service: name, Addresses: all, TLS: p.clientTLS(name), Log: p.log,
		FailedOver: func(address string) { p.failedOver.WithLabelValues(name, address).Inc() },
	}
}
