package exporter

import (
	"cmp"
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
	// When each of them was announced last, in seconds since 1970; what lacks it, of an older collector, when the
	// exporter was seen last.
	SamplersAt   map[uint64]int64 `json:"samplers_at,omitempty"`
	InterfacesAt map[uint32]int64 `json:"interfaces_at,omitempty"`
	RateAt       int64            `json:"rate_at,omitempty"`
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
			Templates: s.templates.Definitions(), V5Rate: s.sampling.v5,
		}
		kept.Samplers, kept.SamplersAt = s.sampling.selectors.kept()
		kept.Interfaces, kept.InterfacesAt = s.sampling.interfaces.kept()
		kept.Rate, kept.RateAt = s.sampling.all.rate, s.sampling.all.at
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
		if full || !kept.From.IsValid() || !t.Hears(kept.From.Addr()) || now.Sub(kept.LastSeen) > t.cfg.TemplateLifetime {
			continue
		}
		p := t.partOf(kept.From.Addr())
		p.mu.Lock()
		p.restore(kept, now)
		p.mu.Unlock()
	}
	return int(t.sessions.n.Load())
}

// kept are the rates, and when each was announced last.
func (a *announced[K]) kept() (rates map[K]uint64, at map[K]int64) {
	if len(a.rates) == 0 {
		return nil, nil
	}
	rates, at = map[K]uint64{}, map[K]int64{}
	for key, one := range a.rates {
		rates[key], at[key] = one.rate, one.at
	}
	return rates, at
}

func (p *part) restore(kept SessionState, now time.Time) {
	s := p.session(kept.key())
	s.lastSeen, s.proven, s.restored, s.clock.boot = kept.LastSeen, kept.Proven, true, kept.Boot
	for _, d := range kept.Templates {
		if now.Sub(d.At) <= p.table.cfg.TemplateLifetime {
			s.templates.Restore(d) //nolint:errcheck // what no exporter can have sent is left out
		}
	}
	seen := kept.LastSeen.Unix()
	for id, rate := range kept.Samplers {
		s.sampling.announce(decode.Sampling{Selector: id, Rate: rate}, cmp.Or(kept.SamplersAt[id], seen))
	}
	for id, rate := range kept.Interfaces {
		s.sampling.announce(decode.Sampling{Interface: id, Rate: rate}, cmp.Or(kept.InterfacesAt[id], seen))
	}
	if kept.Rate != 0 {
		s.sampling.announce(decode.Sampling{Rate: kept.Rate}, cmp.Or(kept.RateAt, seen))
	}
	if kept.V5Rate != 0 {
		s.sampling.v5, s.sampling.last = kept.V5Rate, seen
	}
	s.sampling.expire(p.table.cfg.expiry(now))
	s.siblings.version++
	q := s.quality
	q.templates[s.key.from.Port()], q.LastSeen = s.templates.Len(), kept.LastSeen
	q.announced(s.key.from.Port(), &s.sampling)
	p.charge(s)
}
