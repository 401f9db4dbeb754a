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
	cfg    Configuration
	listed func(netip.Addr) bool

	mu        sync.Mutex
	sessions  map[sessionKey]*session
	elsewhere elsewhere
	memory    memory
	qualities map[qualityKey]*quality
	domains   map[netip.Addr]int // rows of qualities per exporter
	stranger  netip.Addr         // the last that was not listed
	limiter   limiter
	revision  uint64
	message   decode.Message
}

// NewTable returns an empty table that takes datagrams of the exporters that are listed, and where unlisted ones are
// accepted, or listed is nil, of all.
func NewTable(cfg Configuration, listed func(netip.Addr) bool) *Table {
	return &Table{
		cfg: cfg, listed: listed, limiter: newLimiter(cfg, listed), sessions: map[sessionKey]*session{}, memory: memory{used: map[netip.Addr]int{}},
		qualities: map[qualityKey]*quality{}, domains: map[netip.Addr]int{},
	}
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
	if t.listed != nil && !t.cfg.AcceptUnlisted && !t.listed(from.Addr()) {
		q := t.nobody()
		q.drop(ReasonUnlisted, 1)
		q.LastSeen = at
		t.stranger = from.Addr()
		return out
	}
	if !t.limiter.admits(from.Addr(), at) {
		// How many records that were, the sequence number of the next datagram that is taken shows, if one is.
		t.quality(qualityKey{exporter: from.Addr()}).rateLimited(at)
		return out
	}
	h, err := decode.ParseHeader(payload)
	if err != nil {
		// Not by the domain: a datagram that does not even parse is no reason to believe in one.
		t.quality(qualityKey{exporter: from.Addr()}).refuse(err, at)
		return out
	}
	t.moved(sessionKey{from, h.Source, h.Domain}, at)
	s := t.session(sessionKey{from, h.Source, h.Domain})
	if h.Source == flowrecord.SFlow {
		h.ExportTime = at // its header has no time of day
	}
	out = s.take(t.cfg, payload, h, at, &t.message, out)
	t.charge(s)
	return out
}

func (t *Table) session(key sessionKey) *session {
	if s, ok := t.sessions[key]; ok {
		return s
	}
	if len(t.sessions) >= t.cfg.MaxSessions {
		t.evict(t.crowded())
	}
	s := &session{key: key, quality: t.quality(qualityKey{key.from.Addr(), key.domain, key.source})}
	t.sessions[key] = s
	return s
}

// maxDomains is how many observation domains and formats of one exporter are counted apart: line cards, not inventions.
const maxDomains = 64

// maxRows is how many rows of quality an exporter has: its domains, and one for the rest.
const maxRows = maxDomains + 1

// quality finds an exporter's counters. Its domains beyond the limit share a row with what did not parse, and exporters
// beyond theirs the row of nobody: both limits only made-up sources reach.
func (t *Table) quality(key qualityKey) *quality {
	if q, ok := t.qualities[key]; ok {
		return q
	}
	rest := qualityKey{exporter: key.exporter}
	switch n := t.domains[key.exporter]; {
	case n == 0 && len(t.domains) >= t.cfg.MaxSessions:
		q := t.nobody()
		q.drop(ReasonTooMany, 1)
		return q
	case n >= maxDomains && key != rest:
		return t.quality(rest)
	}
	t.domains[key.exporter]++
	q := newQuality(key)
	t.qualities[key] = q
	return q
}

// nobody is the row 0.0.0.0 of sources that are not counted one by one.
func (t *Table) nobody() *quality {
	key := qualityKey{exporter: netip.IPv4Unspecified()}
	q, ok := t.qualities[key]
	if !ok {
		q = newQuality(key)
		t.qualities[key] = q
	}
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

// Stranger is the last address that sent something and is not listed, and how many datagrams such addresses have sent.
func (t *Table) Stranger() (netip.Addr, uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stranger.IsValid() {
		return t.stranger, 0
	}
	return t.stranger, t.nobody().Drops[string(ReasonUnlisted)]
}

// Hours lists the hours of each exporter that changed since the last call. Nobody has none, so that senders that are
// counted there do not look like an exporter in good health.
func (t *Table) Hours() []Hour {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.revision++
	var all []Hour
	for key, q := range t.qualities {
		if !key.exporter.IsUnspecified() {
			all = append(all, q.changed(t.revision)...)
		}
	}
	slices.SortFunc(all, func(a, b Hour) int {
		return cmp.Or(a.Exporter.Compare(b.Exporter), cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Source, b.Source), a.Start.Compare(b.Start))
	})
	return all
}
