package detect

import (
	"net/netip"
	"slices"
	"time"
)

// Run is the decision of one nightly run: find pairs, merge them with the old ones, age out.
func Run(rule Rule, remembered []Pair, in Input, now time.Time) Result {
	memory := make(map[Key]Pair, len(remembered))
	for _, p := range remembered {
		memory[p.Key] = p
	}
	fresh := find(rule, in)
	var out Result
	for _, key := range keys(memory, fresh) {
		old, known := memory[key]
		evidence := fresh[key]
		if known && in.Frozen[key.Exporter] {
			out.Pairs = append(out.Pairs, old)
			continue
		}
		p, news := merge(rule, old, key, evidence)
		p.LastSeen = latest(p.LastSeen, in.LastSeen[key])
		switch {
		case aged(rule, p, now):
			if known {
				out.AgedOut = append(out.AgedOut, p)
			}
			continue
		case !known:
			out.Added = append(out.Added, p)
		case news:
			out.Refreshed = append(out.Refreshed, p)
		}
		out.Pairs = append(out.Pairs, p)
	}
	return out
}

// Join adds evidence that was found outside of a nightly run, for pairs that cannot wait for one. Nothing ages: only a
// run knows when the other pairs were last seen.
func Join(rule Rule, remembered []Pair, found map[Key][]Evidence) Result {
	memory := make(map[Key]Pair, len(remembered))
	for _, p := range remembered {
		memory[p.Key] = p
	}
	var out Result
	for _, key := range keys(memory, found) {
		old, known := memory[key]
		p, news := merge(rule, old, key, found[key])
		switch {
		case !known:
			out.Added = append(out.Added, p)
		case news:
			out.Refreshed = append(out.Refreshed, p)
		}
		out.Pairs = append(out.Pairs, p)
	}
	return out
}

// find applies the fixed-interval rule: more than H bytes within one interval.
func find(rule Rule, in Input) map[Key][]Evidence {
	out := map[Key][]Evidence{}
	for _, s := range in.Sums {
		key, alpha := rule.Alpha(s)
		if alpha && !in.Frozen[s.Exporter] {
			out[key] = append(out[key], rule.Evidence(s))
		}
	}
	return out
}

// Evidence is the sum as it is kept of a pair.
func (r Rule) Evidence(s Sum) Evidence {
	return Evidence{
		Flow: s.Flow, Start: s.Start, Interval: r.Interval, Bytes: s.Bytes, Packets: s.Packets,
		MinBytes: r.MinBytes, SamplingRate: s.SamplingRate, LastRecordEnd: s.LastRecordEnd,
	}
}

// Alpha decides whether a flow is alpha by what it sent in one interval, and names its pair.
func (r Rule) Alpha(s Sum) (Key, bool) {
	key, ok := r.KeyOf(s)
	return key, ok && s.Bytes > r.MinBytes
}

// KeyOf names the pair a flow belongs to; false where its ends are of two
// address families or no addresses at all.
func (r Rule) KeyOf(s Sum) (Key, bool) {
	src, ok := r.prefix(s.Flow.Src.Addr())
	if !ok {
		return Key{}, false
	}
	dst, ok := r.prefix(s.Flow.Dst.Addr())
	if !ok || src.Addr().Is4() != dst.Addr().Is4() {
		return Key{}, false
	}
	return Key{Exporter: s.Exporter, Prefixes: Prefixes{src, dst}}, true
}

func (r Rule) prefix(a netip.Addr) (netip.Prefix, bool) {
	a = a.Unmap().WithZone("")
	bits := r.IPv6Length
	if a.Is4() {
		bits = r.IPv4Length
	}
	p, _ := a.Prefix(bits) // with an error, or of no address, it is not valid
	return p, p.IsValid()
}

// merge adds evidence to a pair and reports whether any of it is new.
func merge(rule Rule, old Pair, key Key, evidence []Evidence) (p Pair, news bool) {
	p = old
	p.Key = key
	p.Evidence = newest(rule.MaxEvidence, old.Evidence, evidence)
	for _, e := range evidence {
		if p.FirstSeen.IsZero() || e.Start.Before(p.FirstSeen) {
			p.FirstSeen = e.Start
		}
		p.LastAlpha = latest(p.LastAlpha, e.Start)
		p.LastSeen = latest(p.LastSeen, latest(e.Start, e.LastRecordEnd))
	}
	return p, !slices.EqualFunc(p.Evidence, old.Evidence, Evidence.equal)
}

// aged: no flow of the pair was observed within the ageing interval.
func aged(rule Rule, p Pair, now time.Time) bool { return p.LastSeen.Before(now.Add(-rule.AgeAfter)) }

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func keys(memory map[Key]Pair, fresh map[Key][]Evidence) []Key {
	all := make([]Key, 0, len(memory)+len(fresh))
	for k := range memory {
		all = append(all, k)
	}
	for k := range fresh {
		if _, ok := memory[k]; !ok {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, Key.Compare)
	return all
}
