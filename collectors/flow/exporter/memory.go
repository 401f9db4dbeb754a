package exporter

import (
	"net/netip"
	"slices"
	"sync/atomic"
)

// What is remembered of an exporter is bounded twice, in sum over all exporters:
//
//   - templates and announced sampling rates by Configuration.TemplateMemory, in bytes, what other collectors have told
//     included, which gives way first;
//   - sessions by Configuration.MaxSessions, each with at most sessionMemory of datagrams to know again.
//
// Where a bound is reached, the exporter that has most gives way, never one that has less than the one in need.
const (
	// samplerMemory is what one announced rate takes in a map of this package, or in the two of a SessionState.
	samplerMemory = 80
	// sessionMemory is what a session takes beside templates and samplers, once it remembers 4096 datagrams.
	sessionMemory = 144 << 10
	// rowMemory is what an exporter's counters of one domain and format take, with most reasons and events counted.
	rowMemory = 4 << 10
)

// Memory is how much all exporters take at most, in octets: templates and samplers, sessions, and rows of counters.
func (c Configuration) Memory() int64 {
	return int64(c.TemplateMemory) + int64(c.MaxSessions)*(sessionMemory+maxRows*rowMemory)
}

// bounded counts what all parts have together, up to a bound.
type bounded struct{ n atomic.Int64 }

// take counts one more, unless there are as many as there may be. A refusal may come too early where others take and
// give meanwhile. It is exact for who holds all parts, and where nothing that was taken is ever given back: exporters.
func (b *bounded) take(most int) bool {
	if b.n.Add(1) <= int64(most) {
		return true
	}
	b.give()
	return false
}

func (b *bounded) give() { b.n.Add(-1) }

// account notes that an exporter's templates and samplers have grown by n bytes.
func (p *part) account(addr netip.Addr, n int) {
	if n == 0 { // as with nearly every datagram: what all parts share is left alone
		return
	}
	p.table.memory.Add(int64(n))
	if p.memory[addr] += n; p.memory[addr] == 0 {
		delete(p.memory, addr)
	}
}

// charge notes how much memory the session takes now and makes room where that is too much.
func (p *part) charge(s *session) {
	now := s.templates.Bytes() + s.sampling.bytes()
	p.account(s.key.from.Addr(), now-s.charged)
	s.charged = now
	if t := p.table; t.memory.Load()+t.heard.Load() > int64(t.cfg.TemplateMemory) {
		p.withAll(t.makeRoom)
	}
}

// makeRoom is for who holds all parts.
func (t *Table) makeRoom() {
	if t.memory.Load()+t.heard.Load() > int64(t.cfg.TemplateMemory) {
		t.forgetHeard()
	}
	for t.memory.Load() > int64(t.cfg.TemplateMemory) {
		t.evict(t.greedy())
	}
}

// greedy is the exporter whose templates and samplers take most.
func (t *Table) greedy() func(netip.Addr) bool {
	var used []map[netip.Addr]int
	for _, p := range t.parts {
		used = append(used, p.memory)
	}
	return mostOf(used...)
}

// crowded is the exporter with most sessions; all of them where each has one.
func (t *Table) crowded() func(netip.Addr) bool {
	counts := map[netip.Addr]int{}
	for _, p := range t.parts {
		for key := range p.sessions {
			counts[key.from.Addr()]++
		}
	}
	return mostOf(counts)
}

// mostOf is who has most in any of several maps, in which no address is twice.
func mostOf(all ...map[netip.Addr]int) func(netip.Addr) bool {
	most := 0
	for _, n := range all {
		for _, v := range n {
			most = max(most, v)
		}
	}
	return func(a netip.Addr) bool {
		return slices.ContainsFunc(all, func(n map[netip.Addr]int) bool { return n[a] == most })
	}
}

// evict removes a session of an exporter that may give way: one that no flow came of, before one that has sent some;
// among equals the longest idle. It takes time in proportion to their number, which only a flood of new sources pays.
func (t *Table) evict(mayGive func(netip.Addr) bool) {
	var victim *session
	for _, p := range t.parts {
		for _, s := range p.sessions {
			if mayGive(s.key.from.Addr()) && (victim == nil || s.givesWayTo(victim)) {
				victim = s
			}
		}
	}
	victim.quality.event(EventEvicted)
	t.partOf(victim.key.from.Addr()).remove(victim)
}

// remove forgets a session.
func (p *part) remove(s *session) {
	s.quality.forget(s.key.from.Port())
	p.account(s.key.from.Addr(), -s.charged)
	delete(p.sessions, s.key)
	p.leave(s)
	p.table.sessions.give()
}

func (s *session) givesWayTo(other *session) bool {
	if s.proven != other.proven {
		return !s.proven
	}
	return s.lastSeen.Before(other.lastSeen)
}
