package exporter

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/internal/flowrecord"
)

// State is what exporters have reported about their records, and report again only when they please: without it a
// collector that was restarted would drop v9 and IPFIX records, or store them without a sampling rate, until then.
type State struct {
	// Form of the file; 0 in one from before forms were counted.
	Form     int            `json:"form"`
	Sessions []SessionState `json:"sessions"`
}

// StateForm is that which this collector writes; it reads all before it.
const StateForm = 1

// SessionState is what one exporter socket has reported for one observation domain.
type SessionState struct {
	From     netip.AddrPort    `json:"from"`
	Source   flowrecord.Source `json:"source"`
	Domain   uint32            `json:"domain"`
	LastSeen time.Time         `json:"last_seen"`
	// Proven: a flow came of it.
	Proven bool `json:"proven,omitempty"`
	// Boot is when the exporter started: an exporter that has started since then has other templates.
	Boot      time.Time           `json:"boot"`
	Templates []decode.Definition `json:"templates,omitempty"`
	// Rates that were announced: by sampler, by interface, for all, and in v5's header.
	Samplers   map[uint64]uint64 `json:"samplers,omitempty"`
	Interfaces map[uint32]uint64 `json:"interfaces,omitempty"`
	Rate       uint64            `json:"rate,omitempty"`
	V5Rate     uint64            `json:"v5_rate,omitempty"`
}

// State is a copy, in order.
func (t *Table) State() State {
	out := State{Form: StateForm}
	for _, p := range t.parts {
		out.Sessions = p.state(out.Sessions)
	}
	slices.SortFunc(out.Sessions, func(a, b SessionState) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Domain, b.Domain))
	})
	return out
}

func (p *part) state(out []SessionState) []SessionState {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, s := range p.sessions {
		kept := SessionState{
			From: key.from, Source: key.source, Domain: key.domain, LastSeen: s.lastSeen, Proven: s.proven, Boot: s.clock.boot,
			Templates: s.templates.Definitions(), Samplers: maps.Clone(s.sampling.selectors), Interfaces: maps.Clone(s.sampling.interfaces),
			Rate: s.sampling.all, V5Rate: s.sampling.v5,
		}
		if len(kept.Templates)+len(kept.Samplers)+len(kept.Interfaces) > 0 || kept.Rate != 0 || kept.V5Rate != 0 {
			out = append(out, kept)
		}
	}
	return out
}

// Restore takes over what is not older than a template's lifetime, of exporters that are heard, within the bounds that
// hold for all. It is for an empty table, and returns how many sessions it has then.
func (t *Table) Restore(state State, now time.Time) (sessions int) {
	for _, kept := range state.Sessions {
		full := t.sessions.n.Load() >= int64(t.cfg.MaxSessions)
		if full || !kept.From.IsValid() || !t.hears(kept.From.Addr()) || now.Sub(kept.LastSeen) > t.cfg.TemplateLifetime {
			continue
		}
		p := t.partOf(kept.From.Addr())
		p.mu.Lock()
		p.restore(kept, now)
		p.mu.Unlock()
	}
	return int(t.sessions.n.Load())
}

func (p *part) restore(kept SessionState, now time.Time) {
	s := p.session(kept.key())
	s.lastSeen, s.proven, s.restored, s.clock.boot = kept.LastSeen, kept.Proven, true, kept.Boot
	for _, d := range kept.Templates {
		if now.Sub(d.At) <= p.table.cfg.TemplateLifetime {
			s.templates.Restore(d) //nolint:errcheck // what no exporter can have sent is left out
		}
	}
	for id, rate := range kept.Samplers {
		s.sampling.announce(decode.Sampling{Selector: id, Rate: rate})
	}
	for id, rate := range kept.Interfaces {
		s.sampling.announce(decode.Sampling{Interface: id, Rate: rate})
	}
	s.sampling.all, s.sampling.v5 = kept.Rate, kept.V5Rate
	q := s.quality
	q.templates[s.key.from.Port()], q.LastSeen = s.templates.Len(), kept.LastSeen
	q.announced(s.key.from.Port(), s.sampling.rate(&decode.Flow{}))
	p.charge(s)
}
