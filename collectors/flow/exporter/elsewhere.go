package exporter

import (
	"net/netip"
	"time"
)

// aside is by how much another collector must have seen an exporter later than this one did, until the exporter has
// moved: one that sends to both is seen by both at about the same time, by clocks of two hosts.
const aside = 5 * time.Second

// elsewhere are sessions as other collectors have them, for exporters that move here.
type elsewhere struct {
	sessions map[sessionKey]SessionState
	bytes    int
}

func (e *elsewhere) put(key sessionKey, s SessionState) {
	e.remove(key)
	if e.sessions == nil {
		e.sessions = map[sessionKey]SessionState{}
	}
	e.sessions[key] = s
	e.bytes += s.bytes()
}

func (e *elsewhere) remove(key sessionKey) {
	if old, ok := e.sessions[key]; ok {
		e.bytes -= old.bytes()
		delete(e.sessions, key)
	}
}

// oldest is the session whose exporter was seen last the longest time ago.
func (e *elsewhere) oldest() (key sessionKey, last time.Time) {
	for k, s := range e.sessions {
		if last.IsZero() || s.LastSeen.Before(last) {
			key, last = k, s.LastSeen
		}
	}
	return key, last
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
	t.mu.Lock()
	defer t.mu.Unlock()
	key := kept.key()
	heard := t.listed == nil || t.cfg.AcceptUnlisted || t.listed(key.from.Addr())
	if !kept.From.IsValid() || !heard {
		return
	}
	t.elsewhere.remove(key)
	if s, here := t.sessions[key]; here && !s.movedBy(kept) || t.memory.total+kept.bytes() > t.cfg.TemplateMemory {
		return
	}
	for !t.hasRoom(kept) {
		oldest, last := t.elsewhere.oldest()
		if len(t.elsewhere.sessions) == 0 || !last.Before(kept.LastSeen) {
			return
		}
		t.elsewhere.remove(oldest)
	}
	t.elsewhere.put(key, kept)
}

// hasRoom reports whether one more session of another collector fits.
func (t *Table) hasRoom(s SessionState) bool {
	return len(t.elsewhere.sessions) < t.cfg.MaxSessions && t.memory.total+t.elsewhere.bytes+s.bytes() <= t.cfg.TemplateMemory
}

// moved takes over what another collector has of a session whose exporter sends here now: templates and rates. The
// numbers of what was sent there are no gap: they begin anew here.
func (t *Table) moved(key sessionKey, at time.Time) {
	kept, ok := t.elsewhere.sessions[key]
	if !ok {
		return
	}
	t.elsewhere.remove(key)
	s, here := t.sessions[key]
	if at.Sub(kept.LastSeen) > t.cfg.TemplateLifetime || here && !s.movedBy(kept) {
		return
	}
	if here {
		t.remove(s)
	}
	t.restore(kept, at)
}

// movedBy reports whether the exporter has sent to another collector since it sent here.
func (s *session) movedBy(kept SessionState) bool { return kept.LastSeen.Sub(s.lastSeen) >= aside }

// remove forgets a session.
func (t *Table) remove(s *session) {
	s.quality.forget(s.key.from.Port())
	t.memory.add(s.key.from.Addr(), -s.charged)
	delete(t.sessions, s.key)
}
