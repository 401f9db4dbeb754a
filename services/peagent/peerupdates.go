package peagent

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/millrace/millrace/services/peagent/datapath"
	"github.com/millrace/millrace/services/peagent/law"
	"github.com/millrace/millrace/services/peagent/management"
)

const (
	// peerUpdateInterval is the time between two updates to the other PEs, so that b can follow where round trips are
	// short.
	peerUpdateInterval = 200 * time.Millisecond
	// peerUpdateLifetime is how long an update of another PE counts.
	peerUpdateLifetime = 5 * time.Second
)

// peerUpdate is the latest update of another PE and when it came, ns.
type peerUpdate struct {
	management.PeerUpdate
	at uint64
}

// sendPeerUpdates sends the sums over the flows of this PE to all other PEs.
func (a *Agent) sendPeerUpdates() {
	a.mu.Lock()
	id, key := a.keys.Signing()
	update := management.PeerUpdate{From: a.cfg.PE, Sequence: a.numbers.Next(time.Now()), Sums: a.localSums}.Encode(id, key)
	peers := map[netip.Addr]bool{}
	for _, p := range a.cfg.Peers {
		peers[p] = true
	}
	for k := range a.reg.indices {
		peers[netip.AddrFrom4(k.egress)] = true
	}
	a.mu.Unlock()
	delete(peers, a.cfg.PE)
	for p := range peers {
		if _, err := a.conn.WriteToUDPAddrPort(update, netip.AddrPortFrom(p, a.cfg.Port)); err != nil {
			a.metrics.errors.Inc()
		}
	}
}

// receivePeerUpdates receives updates of other PEs until the socket is closed.
func (a *Agent) receivePeerUpdates() {
	buffer := make([]byte, 2048)
	for {
		n, from, err := a.conn.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			a.metrics.errors.Inc()
			continue
		}
		a.takePeerUpdate(buffer[:n], from.Addr().Unmap())
	}
}

// takePeerUpdate keeps an update that is authentic and newer than the last one of its sender.
func (a *Agent) takePeerUpdate(b []byte, from netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	update, err := management.ParsePeerUpdate(b, a.keys)
	switch {
	case err != nil || update.From != from || update.From == a.cfg.PE:
		a.metrics.peerUpdates.WithLabelValues("rejected").Inc()
	case update.Sequence <= a.peerUpdates[from].Sequence:
		a.metrics.peerUpdates.WithLabelValues("stale").Inc()
	default:
		a.peerUpdates[from] = peerUpdate{update, datapath.Now()}
		a.metrics.peerUpdates.WithLabelValues("accepted").Inc()
	}
}

// domainSums adds the latest updates of the other PEs to the sums of this one.
func (a *Agent) domainSums(now uint64) law.Sums {
	total := a.localSums
	for _, u := range a.peerUpdates {
		if now-u.at < uint64(peerUpdateLifetime) {
			total.Merge(u.Sums)
		}
	}
	return total
}
