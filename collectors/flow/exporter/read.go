package exporter

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
)

// Quality lists all exporters, in order.
func (t *Table) Quality(now time.Time) []Quality {
	var all []Quality
	nobody, there := tally{Quality: newQuality(nobodyKey).Quality}, false
	for _, p := range t.parts {
		p.mu.Lock()
		for key, q := range p.qualities {
			if key == nobodyKey {
				nobody.add(q.tally(now))
				there = true
				continue
			}
			all = append(all, q.snapshot(now))
		}
		p.mu.Unlock()
	}
	if there {
		all = append(all, nobody.quality())
	}
	slices.SortFunc(all, func(a, b Quality) int {
		return cmp.Or(a.Exporter.Compare(b.Exporter), cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Source, b.Source))
	})
	return all
}

// Stranger is the last address that sent something and is not listed, and how many datagrams such addresses have sent.
func (t *Table) Stranger() (netip.Addr, uint64) {
	var last stranger
	var sent uint64
	for _, p := range t.parts {
		p.mu.Lock()
		if p.stranger.from.IsValid() {
			sent += p.nobody().Drops[string(ReasonUnlisted)]
			if !last.from.IsValid() || p.stranger.at.After(last.at) {
				last = p.stranger
			}
		}
		p.mu.Unlock()
	}
	return last.from, sent
}

// Hours lists the hours of each exporter that changed since the last call. Nobody has none, so that senders that are
// counted there do not look like an exporter in good health.
func (t *Table) Hours() []Hour {
	t.reading.Lock()
	defer t.reading.Unlock()
	t.revision++
	var all []Hour
	for _, p := range t.parts {
		p.mu.Lock()
		for key, q := range p.qualities {
			if !key.exporter.IsUnspecified() {
				all = append(all, q.changed(t.revision)...)
			}
		}
		p.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b Hour) int {
		return cmp.Or(a.Exporter.Compare(b.Exporter), cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Source, b.Source), a.Start.Compare(b.Start))
	})
	return all
}
