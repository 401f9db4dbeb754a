package exporter

import "github.com/millrace/millrace/collectors/flow/decode"

// maxSamplers bounds what one session may announce.
const maxSamplers = 4096

// sampling is what a session has announced.
type sampling struct {
	selectors  map[uint64]uint64 // sampler or selector id → rate
	interfaces map[uint32]uint64 // ifIndex → rate
	all        uint64            // neither named
	v5         uint64
}

// bytes is about what the announcements take.
func (s *sampling) bytes() int { return (len(s.selectors) + len(s.interfaces)) * samplerMemory }

// announce takes an options record and reports whether it changes a known rate.
func (s *sampling) announce(a decode.Sampling) (changed bool) {
	switch {
	case a.Selector != 0:
		return announced(&s.selectors, a.Selector, a.Rate)
	case a.Interface != 0:
		return announced(&s.interfaces, a.Interface, a.Rate)
	}
	changed = s.all != 0 && s.all != a.Rate
	s.all = a.Rate
	return changed
}

// header takes v5's.
func (s *sampling) header(h decode.Header) (changed bool) {
	if h.SamplingRate == 0 {
		return false
	}
	changed = s.v5 != 0 && s.v5 != h.SamplingRate
	s.v5 = h.SamplingRate
	return changed
}

func announced[K comparable](m *map[K]uint64, key K, rate uint64) (changed bool) {
	if *m == nil {
		*m = map[K]uint64{}
	}
	old, known := (*m)[key]
	if !known && len(*m) >= maxSamplers {
		return false
	}
	(*m)[key] = rate
	return known && old != rate
}

// rate is what holds for a flow, 0 where nothing does. A rate in the record
// itself goes before its sampler's, that before its interface's, that before
// the exporter's.
func (s *sampling) rate(f *decode.Flow) uint64 {
	if f.Rate != 0 {
		return f.Rate
	}
	if len(s.selectors) > 0 {
		if n, ok := s.selectors[f.Selector]; ok {
			return n
		}
	}
	if len(s.interfaces) > 0 {
		if n, ok := s.interfaces[f.Record.InIf]; ok {
			return n
		}
		if n, ok := s.interfaces[f.Record.OutIf]; ok {
			return n
		}
	}
	switch { // each is asked only where those before it say nothing: this is done for every record
	case s.all != 0:
		return s.all
	case s.v5 != 0:
		return s.v5
	}
	if n := only(s.selectors); n != 0 {
		return n
	}
	return only(s.interfaces)
}

// only is the rate that all announcements agree on, which then also holds for
// records that name no sampler; 0 where they differ.
func only[K comparable](m map[K]uint64) uint64 {
	if len(m) == 0 {
		return 0
	}
	var rate uint64
	for _, n := range m {
		if rate != 0 && n != rate {
			return 0
		}
		rate = n
	}
	return rate
}
