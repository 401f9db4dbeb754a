package exporter

import (
	"maps"
	"time"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/internal/flowrecord"
)

// maxSamplers bounds what one session may announce.
const maxSamplers = 4096

// sampling is what a session has announced.
type sampling struct {
	selectors  announced[uint64] // by sampler or selector id
	interfaces announced[uint32] // by ifIndex
	all        announcement      // neither named
	v5         uint64            // which each header says again
	last       int64             // when any of them was announced, in seconds since 1970
}

// announced are rates, by what they hold for. Options are sent again as templates are (RFC 3954 section 9, RFC 7011
// section 8.4), so that a rate lives as long as a template without being announced again.
type announced[K comparable] struct {
	rates map[K]announcement
	// oldest is not after any of them, so that most datagrams need not look at all of them.
	oldest int64
}

// announcement is a rate and when it was announced last, in seconds since 1970.
type announcement struct {
	rate uint64
	at   int64
}

// set takes an announcement and reports whether it changes a known rate.
func (a *announced[K]) set(key K, rate uint64, at int64) (changed bool) {
	if a.rates == nil {
		a.rates = map[K]announcement{}
	}
	old, known := a.rates[key]
	if !known && len(a.rates) >= maxSamplers {
		return false
	}
	a.rates[key], a.oldest = announcement{rate, at}, min(a.oldest, at)
	return known && old.rate != rate
}

// expire forgets what was announced last before a time, and returns how many rates that were.
func (a *announced[K]) expire(before int64) (expired int) {
	if a.oldest >= before || len(a.rates) == 0 {
		return 0
	}
	expired, a.oldest = len(a.rates), before
	for _, one := range a.rates {
		if one.at >= before {
			a.oldest = min(a.oldest, one.at)
		}
	}
	maps.DeleteFunc(a.rates, func(_ K, one announcement) bool { return one.at < before })
	return expired - len(a.rates)
}

// only is the rate that all announcements agree on, which then also holds for
// records that name no sampler; 0 where they differ.
func (a *announced[K]) only() uint64 {
	var rate uint64
	for _, one := range a.rates {
		if rate != 0 && one.rate != rate {
			return 0
		}
		rate = one.rate
	}
	return rate
}

// expiry is the time before which what was announced last is forgotten.
func (c *Configuration) expiry(at time.Time) int64 { return at.Add(-c.TemplateLifetime).Unix() }

// bytes is about what the announcements take.
func (s *sampling) bytes() int {
	return (len(s.selectors.rates) + len(s.interfaces.rates)) * samplerMemory
}

// announce takes an options record and reports whether it changes a known rate.
func (s *sampling) announce(a decode.Sampling, at int64) (changed bool) {
	s.last = max(s.last, at)
	switch {
	case a.Selector != 0:
		return s.selectors.set(a.Selector, a.Rate, at)
	case a.Interface != 0:
		return s.interfaces.set(a.Interface, a.Rate, at)
	}
	changed = s.all.rate != 0 && s.all.rate != a.Rate
	s.all = announcement{a.Rate, at}
	return changed
}

// header takes v5's.
func (s *sampling) header(h decode.Header, at int64) (changed bool) {
	if h.Source != flowrecord.NetFlowV5 {
		return false
	}
	changed = s.v5 != 0 && s.v5 != h.SamplingRate
	s.v5, s.last = h.SamplingRate, at
	return changed
}

func (s *sampling) expire(before int64) (expired int) {
	expired = s.selectors.expire(before) + s.interfaces.expire(before)
	if s.all.rate != 0 && s.all.at < before {
		s.all = announcement{}
		expired++
	}
	return expired
}

// rate is what holds for a flow, 0 where nothing does. A rate in the record
// itself goes before its sampler's, that before its interface's, that before
// the exporter's.
func (s *sampling) rate(f *decode.Flow) uint64 {
	if f.Rate != 0 {
		return f.Rate
	}
	if len(s.selectors.rates) > 0 {
		if one, ok := s.selectors.rates[f.Selector]; ok {
			return one.rate
		}
	}
	if len(s.interfaces.rates) > 0 {
		if one, ok := s.interfaces.rates[f.Record.InIf]; ok {
			return one.rate
		}
		if one, ok := s.interfaces.rates[f.Record.OutIf]; ok {
			return one.rate
		}
	}
	switch { // each is asked only where those before it say nothing: this is done for every record
	case s.all.rate != 0:
		return s.all.rate
	case s.v5 != 0:
		return s.v5
	}
	if f.Selector != 0 && len(s.selectors.rates) > 0 {
		return 0 // a sampler that it has not announced is none of those that it has
	}
	if n := s.selectors.only(); n != 0 {
		return n
	}
	return s.interfaces.only()
}
