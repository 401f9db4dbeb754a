package routeragent

import "context"

// MaxCalls is what one client may have under way.
const MaxCalls = maxCalls

// InjectFault makes changes of the kernel fail where f says so; nil ends it.
func (a *Agent) InjectFault(f func(step string) error) { a.kernel.Fault = f }

// Reconcile is what the agent does at intervals.
func (a *Agent) Reconcile(ctx context.Context) { a.reconcile(ctx) }

// StopStore stops the timers of commits and nothing else.
func (a *Agent) StopStore() { a.store.Stop() }

// MetricsAddress is where the metrics are served.
func (a *Agent) MetricsAddress() string { return a.scrape.address }

// Limits of one client, and of one address.
const (
	MaxSets       = maxSets
	MaxPerClient  = maxPerClient
	MaxPerAddress = maxPerAddress
)
