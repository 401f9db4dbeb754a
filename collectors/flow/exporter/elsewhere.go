package exporter

import (
	"net/netip"
	"time"
)

// aside is by how much another collector must have seen an exporter later than this one did, until the exporter has
// moved: one that sends to both is seen by both at about the same time, by clocks of two hosts.
const aside = 5 * time.Second

// note keeps a session as another collector has it, for when its exporter moves here.
func (p *part) note(key sessionKey, kept SessionState) {
	p.elsewhere[key] = kept
	p.table.heard.Add(int64(kept.bytes()))
}

func (p *part) forget(key sessionKey) {
	if old, ok := p.elsewhere[key]; ok {
		p.table.heard.Add(-int64(old.bytes()))
		delete(p.elsewhere, key)
	}
}

// forgetHeard drops all sessions of other collectors. Its caller holds all parts, as do those of oldest and hasRoom.
func (t *Table) forgetHeard() {
	for _, p := range t.parts {
		clear(p.elsewhere)
	}
	t.heard.Store(0)
}

// oldest is the session of another collector whose exporter was seen last the longest time ago.
func (t *Table) oldest() (key sessionKey, last time.Time, found bool) {
	for _, p := range t.parts {
		for k, s := range p.elsewhere {
			if !found || s.LastSeen.Before(last) {
				key, last, found = k, s.LastSeen, true
			}
		}
	}
	return key, last, found
}

// bytes is about what a session's templates and rates take.
func (s SessionState) bytes() int {
	n := (len(s.Samplers) + len(s.Interfaces)) * samplerMemory
	for _, d := range s.Templates {
		n += len(d.Specs) + samplerMemory
	}
	return n
}

func (s SessionState) key() sessionKey {
	return sessionKey{netip.AddrPortFrom(s.From.Addr().Unmap(), s.From.Port()), s.Source, s.Domain}
}

// Hear notes a session as another collector has it, for when its exporter sends here. What is heard gives way to what
// is here, and to what was seen later: exporters that restart leave sessions behind, of which nobody hears again.
func (t *Table) Hear(kept SessionState) {
	t.lock()
	defer t.unlock()
	key := kept.key()
	if !kept.From.IsValid() || !t.Hears(key.from.Addr()) {
		return
	}
	p := t.partOf(key.from.Addr())
	p.forget(key)
	if s, here := p.sessions[key]; here && !s.movedBy(kept) || t.memory.Load()+int64(kept.bytes()) > int64(t.cfg.TemplateMemory) {
		return
	}
	for !t.hasRoom(kept) {
		oldest, last, found := t.oldest()
		if !found || !last.Before(kept.LastSeen) {
			return
		}
		t.partOf(oldest.from.Addr()).forget(oldest)
	}
	p.note(key, kept)
}

// hasRoom reports whether one more session of another collector fits.
func (t *Table) hasRoom(s SessionState) bool {
	n := 0
	for _, p := range t.parts {
		n += len(p.elsewhere)
	}
	return n < t.cfg.MaxSessions && t.memory.Load()+t.heard.Load()+int64(s.bytes()) <= int64(t.cfg.TemplateMemory)
}

// moved takes over what another collector has of a session whose exporter sends here now: templates and rates. The
// numbers of what was sent there are no gap: they begin anew here.
func (p *part) moved(key sessionKey, at time.Time) {
	kept, ok := p.elsewhere[key]
	if !ok {
		return
	}
	p.forget(key)
	s, here := p.sessions[key]
	if at.Sub(kept.LastSeen) > p.table.cfg.TemplateLifetime || here && !s.movedBy(kept) {
		return
	}
	if here {
		p.remove(s)
	}
	p.restore(kept, at)
}

// movedBy reports whether the exporter has sent to another collector since it sent here.
func (s *session) movedBy(kept SessionState) bool { return kept.LastSeen.Sub(s.lastSeen) >= aside }
