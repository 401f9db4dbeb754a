package exporter

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/internal/flowrecord"
)

// Table holds the sessions of all exporters. It is safe for concurrent use.
type Table struct {
	cfg     Configuration
	decoder decode.Decoder

	mu        sync.Mutex
	sessions  map[sessionKey]*session
	qualities map[qualityKey]*quality
	message   decode.Message
}

// NewTable returns an empty table.
func NewTable(cfg Configuration, decoder decode.Decoder) *Table {
	return &Table{cfg: cfg, decoder: decoder, sessions: map[sessionKey]*session{}, qualities: map[qualityKey]*quality{}}
}

// Datagram is one datagram as it came from a socket.
type Datagram struct {
	From    netip.AddrPort
	Payload []byte
}

// Take decodes datagrams that arrived at a time and appends their flows to out.
func (t *Table) Take(datagrams []Datagram, at time.Time, out []flowrecord.Record) []flowrecord.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range datagrams {
		from := netip.AddrPortFrom(d.From.Addr().Unmap(), d.From.Port())
		out = t.take(from, d.Payload, at, out)
	}
	return out
}

func (t *Table) take(from netip.AddrPort, payload []byte, at time.Time, out []flowrecord.Record) []flowrecord.Record {
	h, err := decode.ParseHeader(payload)
	if err != nil {
		q := t.quality(qualityKey{from.Addr(), h.Domain, h.Source()})
		q.refuse(err)
		q.LastSeen = at
		return out
	}
	s := t.session(sessionKey{from, h.Version, h.Domain}, h.Source())
	return s.take(t.cfg, t.decoder, payload, h, at, &t.message, out)
}

func (t *Table) session(key sessionKey, source flowrecord.Source) *session {
	if s, ok := t.sessions[key]; ok {
		return s
	}
	if len(t.sessions) >= t.cfg.MaxSessions {
		t.evict()
	}
	s := &session{key: key, quality: t.quality(qualityKey{key.from.Addr(), key.domain, source})}
	t.sessions[key] = s
	return s
}

// evict removes the session idle for longest. It takes time in proportion to
// their number, which only a flood of new sources pays.
func (t *Table) evict() {
	var oldest *session
	for _, s := range t.sessions {
		if oldest == nil || s.lastSeen.Before(oldest.lastSeen) {
			oldest = s
		}
	}
	if oldest != nil {
		oldest.quality.event(EventEvicted)
		delete(oldest.quality.templates, oldest.key.from.Port())
		delete(t.sessions, oldest.key)
	}
}

// quality finds an exporter's counters. Beyond the limit, which only made-up
// sources reach, all share those of the address 0.0.0.0.
func (t *Table) quality(key qualityKey) *quality {
	if q, ok := t.qualities[key]; ok {
		return q
	}
	if len(t.qualities) >= t.cfg.MaxSessions {
		key = qualityKey{exporter: netip.IPv4Unspecified()}
		if q, ok := t.qualities[key]; ok {
			q.drop(ReasonTooMany, 1)
			return q
		}
	}
	q := newQuality(key)
	t.qualities[key] = q
	return q
}

// Quality lists all exporters, in order.
func (t *Table) Quality(now time.Time) []Quality {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Quality, 0, len(t.qualities))
	for _, q := range t.qualities {
		all = append(all, q.snapshot(now))
	}
	slices.SortFunc(all, func(a, b Quality) int {
		return cmp.Or(a.Exporter.Compare(b.Exporter), cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Source, b.Source))
	})
	return all
}
