package lab

import (
	"context"
	"fmt"
	"sync"
)

// meet has hosts and their gateways know each other's addresses on the link before anything is measured. Until a
// neighbour has answered, Linux keeps 212,992 bytes of packets for it, a few dozen, and drops the others, which no
// queue counts: a stream that begins at its full rate lost its first packets where an answer took its time.
func (l *Lab) meet(ctx context.Context) error {
	silent := make([]error, len(l.Scenario.Hosts))
	var all sync.WaitGroup
	for i, h := range l.Scenario.Hosts {
		all.Go(func() { // it ends with the first answer
			_, silent[i] = l.Capture(ctx, h.Name, "ping", "-c", "1", "-i", "0.2", "-w", "5", h.Gateway.String())
		})
	}
	all.Wait()
	for i, h := range l.Scenario.Hosts {
		if silent[i] != nil { // such as one at the other end of a circuit that is not there yet
			l.progress(fmt.Sprintf("%s, the gateway of host %s, does not answer", h.Gateway, h.Name))
		}
	}
	return ctx.Err()
}
