package exporter

// siblings are the sessions of one exporter's address: its sockets and observation domains.
type siblings struct {
	sessions map[*session]struct{}
	// version counts changes of what they have announced by sampler.
	version int
}

// borrowed are rates by sampler that a session has of its siblings. They are remembered, because each record asks.
type borrowed struct {
	version int
	// bySampler: some sibling announces rates by sampler.
	bySampler bool
	rates     map[uint64]announcement
}

// maxBorrowed is how many are remembered: records may name as many samplers as they like.
const maxBorrowed = 64

// named is the rate of a sampler that the session itself has not announced: that on which those of its siblings agree
// that have. Cisco IOS XE sends `option sampler-table` in one observation domain and flows in another. What was
// announced last before a time does not count. bySampler is whether some sibling announces rates so.
func (s *session) named(id uint64, before int64) (rate uint64, bySampler bool) {
	if s.borrowed.version != s.siblings.version || len(s.borrowed.rates) >= maxBorrowed {
		s.borrowed = borrowed{s.siblings.version, s.siblings.bySampler(), map[uint64]announcement{}}
	}
	if !s.borrowed.bySampler {
		return 0, false
	}
	one, asked := s.borrowed.rates[id]
	if !asked {
		one = s.siblings.agreed(id, before)
		s.borrowed.rates[id] = one
	}
	if one.at < before {
		return 0, true
	}
	return one.rate, true
}

// agreed is the rate of a sampler as it was announced last; none where sessions announce several.
func (a *siblings) agreed(id uint64, before int64) (out announcement) {
	for s := range a.sessions {
		one, ok := s.sampling.selectors.rates[id]
		switch {
		case !ok || one.at < before:
		case out.rate != 0 && out.rate != one.rate:
			return announcement{}
		case one.at >= out.at:
			out = one
		}
	}
	return out
}

func (a *siblings) bySampler() bool {
	for s := range a.sessions {
		if len(s.sampling.selectors.rates) > 0 {
			return true
		}
	}
	return false
}

// join adds a session to those of its exporter, and leave removes it.
func (p *part) join(s *session) {
	exporter := s.key.from.Addr()
	if p.siblings[exporter] == nil {
		p.siblings[exporter] = &siblings{sessions: map[*session]struct{}{}, version: 1}
	}
	s.siblings = p.siblings[exporter]
	s.siblings.sessions[s] = struct{}{}
}

func (p *part) leave(s *session) {
	delete(s.siblings.sessions, s)
	s.siblings.version++
	if len(s.siblings.sessions) == 0 {
		delete(p.siblings, s.key.from.Addr())
	}
}
