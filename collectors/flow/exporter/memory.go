package exporter

import (
	"net/netip"
)

// What is remembered of an exporter is bounded twice, in sum over all exporters:
//
//   - templates and announced sampling rates by Configuration.TemplateMemory, in bytes, what other collectors have told
//     included, which gives way first;
//   - sessions by Configuration.MaxSessions, each with at most sessionMemory of datagrams to know again.
//
// Where a bound is reached, the exporter that has most gives way, never one that has less than the one in need.
const (
	// samplerMemory is what one announced rate takes in a map of this package.
	samplerMemory = 48
	// sessionMemory is what a session takes beside templates and samplers, once it remembers 4096 datagrams.
	sessionMemory = 144 << 10
	// rowMemory is what an exporter's counters of one domain and format take, with most reasons and events counted.
	rowMemory = 4 << 10
)

// Memory is how much all exporters take at most, in octets: templates and samplers, sessions, and rows of counters.
func (c Configuration) Memory() int64 {
	return int64(c.TemplateMemory) + int64(c.MaxSessions)*(sessionMemory+maxRows*rowMemory)
}

// memory counts the bytes of templates and samplers.
type memory struct {
	total int
	used  map[netip.Addr]int
}

func (m *memory) add(addr netip.Addr, n int) {
	m.total += n
	if m.used[addr] += n; m.used[addr] == 0 {
		delete(m.used, addr)
	}
}

// charge notes how much memory the session takes now and makes room where that is too much.
func (t *Table) charge(s *session) {
	now := s.templates.Bytes() + s.sampling.bytes()
	t.memory.add(s.key.from.Addr(), now-s.charged)
	s.charged = now
	if t.memory.total+t.elsewhere.bytes > t.cfg.TemplateMemory {
		t.elsewhere = elsewhere{}
	}
	for t.memory.total > t.cfg.TemplateMemory {
		t.evict(t.greedy())
	}
}

// greedy is the exporter whose templates and samplers take most.
func (t *Table) greedy() func(netip.Addr) bool {
	return mostOf(t.memory.used)
}

// crowded is the exporter with most sessions; all of them where each has one.
func (t *Table) crowded() func(netip.Addr) bool {
	counts := map[netip.Addr]int{}
	for key := range t.sessions {
		counts[key.from.Addr()]++
	}
	return mostOf(counts)
}

func mostOf(n map[netip.Addr]int) func(netip.Addr) bool {
	most := 0
	for _, v := range n {
		most = max(most, v)
	}
	return func(a netip.Addr) bool { return n[a] == most }
}

// evict removes a session of an exporter that may give way: one that no flow came of, before one that has sent some;
// among equals the longest idle. It takes time in proportion to their number, which only a flood of new sources pays.
func (t *Table) evict(mayGive func(netip.Addr) bool) {
	var victim *session
	for _, s := range t.sessions {
		if mayGive(s.key.from.Addr()) && (victim == nil || s.givesWayTo(victim)) {
			victim = s
		}
	}
	victim.quality.event(EventEvicted)
	t.remove(victim)
}

func (s *session) givesWayTo(other *session) bool {
	if s.proven != other.proven {
		return !s.proven
	}
	return s.lastSeen.Before(other.lastSeen)
}
