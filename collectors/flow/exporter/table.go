package exporter

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/collectors/flow/worker"
	"github.com/millrace/millrace/internal/flowrecord"
)

// Table holds the sessions of all exporters. It is safe for concurrent use: it has a part for each worker, so that
// workers do not wait for each other. The bounds of the configuration hold for all parts together.
type Table struct {
	cfg    Configuration
	listed func(netip.Addr) bool
	parts  []*part

	// sessions and exporters are how many the parts have.
	sessions, exporters bounded
	// memory is the bytes of templates and samplers, heard those of other collectors' sessions.
	memory, heard atomic.Int64

	reading  sync.Mutex // Hours
	revision uint64
}

// part has the exporters of one worker.
type part struct {
	table *Table

	mu        sync.Mutex
	sessions  map[sessionKey]*session
	elsewhere map[sessionKey]SessionState
	memory    map[netip.Addr]int // bytes of templates and samplers
	qualities map[qualityKey]*quality
	domains   map[netip.Addr]int // rows of qualities per exporter
	siblings  map[netip.Addr]*siblings
	stranger  stranger
	limiter   limiter
	message   decode.Message
}

// stranger is the last sender that was not listed.
type stranger struct {
	from netip.Addr
	at   time.Time
}

// NewTable returns an empty table for a number of workers. It takes datagrams of the exporters that are listed, and
// where unlisted ones are accepted, or listed is nil, of all.
func NewTable(cfg Configuration, listed func(netip.Addr) bool, workers int) *Table {
	t := &Table{cfg: cfg, listed: listed}
	for range workers {
		t.parts = append(t.parts, &part{
			table: t, limiter: newLimiter(cfg, listed), sessions: map[sessionKey]*session{}, elsewhere: map[sessionKey]SessionState{},
			memory: map[netip.Addr]int{}, qualities: map[qualityKey]*quality{}, domains: map[netip.Addr]int{}, siblings: map[netip.Addr]*siblings{},
		})
	}
	return t
}

// partOf has the exporter of an address.
func (t *Table) partOf(exporter netip.Addr) *part {
	return t.parts[worker.Of(exporter, len(t.parts))]
}

// lock holds all parts, always in the same order.
func (t *Table) lock() {
	for _, p := range t.parts {
		p.mu.Lock()
	}
}

func (t *Table) unlock() {
	for _, p := range t.parts {
		p.mu.Unlock()
	}
}

// withAll calls f while all parts are held, for a caller that holds this one. It is let go in between: what the caller
// knew of it before may have changed.
func (p *part) withAll(f func()) {
	p.mu.Unlock()
	p.table.lock()
	f()
	for _, other := range p.table.parts {
		if other != p {
			other.mu.Unlock()
		}
	}
}

// Datagram is one datagram as it came from a socket.
type Datagram struct {
	From    netip.AddrPort
	Payload []byte
	// At is when it arrived, which may be long before it is read; zero: now.
	At time.Time
}

// Take decodes datagrams and appends their flows to out. Those that one worker's socket brings
// are all of one part.
func (t *Table) Take(datagrams []Datagram, now time.Time, out []flowrecord.Record) []flowrecord.Record {
	var held *part
	for _, d := range datagrams {
		from := netip.AddrPortFrom(d.From.Addr().Unmap(), d.From.Port())
		if p := t.partOf(from.Addr()); p != held {
			if held != nil {
				held.mu.Unlock()
			}
			p.mu.Lock()
			held = p
		}
		at := d.At
		if at.IsZero() {
			at = now
		}
		out = held.take(from, d.Payload, at, out)
	}
	if held != nil {
		held.mu.Unlock()
	}
	return out
}

// Hears reports whether datagrams of an address are taken.
func (t *Table) Hears(from netip.Addr) bool {
	return t.listed == nil || t.cfg.AcceptUnlisted || t.listed(from)
}

func (p *part) take(from netip.AddrPort, payload []byte, at time.Time, out []flowrecord.Record) []flowrecord.Record {
	if !p.table.Hears(from.Addr()) {
		q := p.nobody()
		q.drop(ReasonUnlisted, 1)
		q.LastSeen = at
		p.stranger = stranger{from.Addr(), at}
		return out
	}
	if !p.limiter.admits(from.Addr(), at) {
		// How many records that were, the sequence number of the next datagram that is taken shows, if one is.
		p.quality(qualityKey{exporter: from.Addr()}).rateLimited(at)
		return out
	}
	h, err := decode.ParseHeader(payload)
	if err != nil {
		// Not by the domain: a datagram that does not even parse is no reason to believe in one.
		p.quality(qualityKey{exporter: from.Addr()}).refuse(err, at)
		return out
	}
	p.moved(sessionKey{from, h.Source, h.Domain}, at)
	s := p.session(sessionKey{from, h.Source, h.Domain})
	if h.Source == flowrecord.SFlow {
		h.ExportTime = at // its header has no time of day
	}
	out = s.take(&p.table.cfg, payload, h, at, &p.message, out)
	p.charge(s)
	return out
}

func (p *part) session(key sessionKey) *session {
	if s, ok := p.sessions[key]; ok {
		return s
	}
	t := p.table
	if most := t.cfg.MaxSessions; !t.sessions.take(most) {
		p.withAll(func() {
			for !t.sessions.take(most) {
				t.evict(t.crowded())
			}
		})
		if s, ok := p.sessions[key]; ok { // another caller was first
			t.sessions.give()
			return s
		}
	}
	s := &session{key: key, quality: p.quality(qualityKey{key.from.Addr(), key.domain, key.source})}
	p.sessions[key] = s
	p.join(s)
	return s
}

// maxDomains is how many observation domains and formats of one exporter are counted apart: line cards, not inventions.
const maxDomains = 64

// maxRows is how many rows of quality an exporter has: its domains, and one for the rest.
const maxRows = maxDomains + 1

// quality finds an exporter's counters. Its domains beyond the limit share a row with what did not parse, and exporters
// beyond theirs the row of nobody: both limits only made-up sources reach. An exporter is never given back, so no part
// is refused one while there is room.
func (p *part) quality(key qualityKey) *quality {
	if q, ok := p.qualities[key]; ok {
		return q
	}
	rest := qualityKey{exporter: key.exporter}
	switch n := p.domains[key.exporter]; {
	case n == 0 && !p.table.exporters.take(p.table.cfg.MaxSessions):
		q := p.nobody()
		q.drop(ReasonTooMany, 1)
		return q
	case n >= maxDomains && key != rest:
		return p.quality(rest)
	}
	p.domains[key.exporter]++
	q := newQuality(key)
	p.qualities[key] = q
	return q
}

// nobodyKey is the row 0.0.0.0 of sources that are not counted one by one.
var nobodyKey = qualityKey{exporter: netip.IPv4Unspecified()}

func (p *part) nobody() *quality {
	q, ok := p.qualities[nobodyKey]
	if !ok {
		q = newQuality(nobodyKey)
		p.qualities[nobodyKey] = q
	}
	return q
}
