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
	// notesEvery is how often peers are told: as often as b may have to change where round trips are short.
	notesEvery = 200 * time.Millisecond
	// noteLife is how long a peer's note counts.
	noteLife = 5 * time.Second
)

type peerNote struct {
	management.Note
	at uint64
}

// sendNotes tells all other PEs what the flows here have in common.
func (a *Agent) sendNotes() {
	a.mu.Lock()
	id, key := a.keys.Signing()
	text := management.Note{From: a.cfg.PE, Sequence: uint64(time.Now().UnixNano()), Reference: a.own}.Encode(id, key)
	peers := map[netip.Addr]bool{}
	for _, p := range a.cfg.Peers {
		peers[p] = true
	}
	for k := range a.reg.slots {
		peers[netip.AddrFrom4(k.egress)] = true
	}
	a.mu.Unlock()
	delete(peers, a.cfg.PE)
	for p := range peers {
		if _, err := a.conn.WriteToUDPAddrPort(text, netip.AddrPortFrom(p, a.cfg.Port)); err != nil {
			a.metrics.errors.Inc()
		}
	}
}

// readNotes takes in other PEs' notes until the socket is closed.
func (a *Agent) readNotes() {
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
		a.takeNote(buffer[:n], from.Addr().Unmap())
	}
}

func (a *Agent) takeNote(b []byte, from netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	note, err := management.ParseNote(b, a.keys)
	switch {
	case err != nil || note.From != from || note.From == a.cfg.PE:
		a.metrics.notes.WithLabelValues("refused").Inc()
	case note.Sequence <= a.notes[from].Sequence:
		a.metrics.notes.WithLabelValues("stale").Inc()
	default:
		a.notes[from] = peerNote{note, datapath.Now()}
		a.metrics.notes.WithLabelValues("taken").Inc()
	}
}

// domain is the whole domain's sums as far as they are known here.
func (a *Agent) domain(now uint64) law.Reference {
	total := a.own
	for _, n := range a.notes {
		if now-n.at < uint64(noteLife) {
			total.Join(n.Reference)
		}
	}
	return total
}
