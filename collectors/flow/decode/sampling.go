package decode

import (
	"time"

	"github.com/netsampler/goflow2/v2/decoders/netflow"
)

// samplingFields are the elements that tell a sampling rate, in options or in
// the record itself.
type samplingFields struct {
	selector         uint64
	interval         uint64 // elements 34 and 50: one in N
	packets, space   uint64 // RFC 5476: packets taken, then packets skipped
	size, population uint64 // n out of N
}

func (s *samplingFields) take(element uint16, b []byte) {
	switch element {
	case samplerID, selectorID:
		s.selector = number(b)
	case samplingInterval, samplerRandomInterval:
		s.interval = number(b)
	case samplingPacketInterval:
		s.packets = number(b)
	case samplingPacketSpace:
		s.space = number(b)
	case samplingSize:
		s.size = number(b)
	case samplingPopulation:
		s.population = number(b)
	}
}

// maxRate keeps nonsense out: no exporter samples one packet in four billion.
const maxRate = 1 << 32

// rate is N of one in N, or 0 where nothing is said.
func (s *samplingFields) rate() uint64 {
	var n uint64
	switch {
	case s.interval > 0:
		n = s.interval
	case s.packets > 0 && s.space < maxRate:
		n = (s.packets + s.space) / s.packets
	case s.size > 0:
		n = s.population / s.size
	}
	if n > maxRate {
		return 0
	}
	return n
}

func takeOptions(r netflow.OptionsDataRecord, m *Message) {
	var s samplingFields
	var iface uint64
	for i := range r.ScopesValues {
		b, _ := r.ScopesValues[i].Value.([]byte)
		switch r.ScopesValues[i].Type {
		case scopeInterface, ingressInterface:
			iface = number(b)
		default:
			s.take(r.ScopesValues[i].Type, b)
		}
	}
	for i := range r.OptionsValues {
		f := &r.OptionsValues[i]
		b, _ := f.Value.([]byte)
		if f.PenProvided {
			continue
		}
		switch f.Type {
		case ingressInterface:
			iface = number(b)
		case systemInitMilliseconds:
			m.SystemInit = time.UnixMilli(int64(number(b))).UTC()
		default:
			s.take(f.Type, b)
		}
	}
	if rate := s.rate(); rate > 0 {
		m.Sampling = append(m.Sampling, Sampling{Selector: s.selector, Interface: uint32(iface), Rate: rate})
	}
}
