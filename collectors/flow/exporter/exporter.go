// Package exporter keeps the state of each exporter: templates, sequence
// numbers, clock, sampling and health.
//
// In: datagrams with their source address and time of arrival. Out: complete
// flow records, and per exporter a count of everything that was lost or dropped
// and why. Next: collectors/flow, which puts the records on the bus and the
// counts into its API.
//
// Nothing here reads a clock or a socket: a test can replay a day in a moment.
package exporter

import (
	"cmp"
	"net/netip"
	"time"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/internal/flowrecord"
)

// Reasons for which single records are dropped; decode has those for datagrams.
const (
	ReasonReplayed    decode.Reason = "replayed"              // the very same datagram came before
	ReasonNoTemplate  decode.Reason = "no_template"           // data sets before their template
	ReasonNotFlow     decode.Reason = "not_a_flow"            // a record without addresses or bytes
	ReasonEvent       decode.Reason = "nat_or_firewall_event" // a record of an event that counts no bytes
	ReasonBadTemplate decode.Reason = "bad_template"          // a template that no record could use, or one too many
	ReasonTime        decode.Reason = "time_out_of_range"     // a record too far from the time of arrival
	ReasonNegative    decode.Reason = "end_before_start"      // a record that ends before it starts
	ReasonTooMany     decode.Reason = "too_many_sessions"     // from exporters beyond the limit
	ReasonRateLimited decode.Reason = "rate_limited"          // a datagram above the exporter's rate
	ReasonUnlisted    decode.Reason = "unlisted"              // from an address that is no exporter of the inventory
)

// Things worth counting that drop nothing.
const (
	EventRestart         = "restart"          // the exporter, or its numbering, started anew
	EventClockJump       = "clock_jump"       // its clock moved against ours
	EventSamplingChange  = "sampling_changed" // it announced another rate than before
	EventLate            = "late"             // a datagram came after its successors
	EventSamplingRefused = "sampling_refused" // it told a rate above the largest that is believed
	EventSequenceJump    = "sequence_jump"    // a gap too large to be loss
	EventEvicted         = "session_evicted"  // an idle session made room for another
	// EventTemplateExpired is a template that was not sent again within its lifetime.
	EventTemplateExpired = "template_expired"
	// EventSamplingExpired is a rate that was not announced again within a template's lifetime.
	EventSamplingExpired = "sampling_expired"
	// EventWithdrawal is an IPFIX template withdrawal, which is ignored: RFC 7011 section 8.4 forbids them over UDP.
	EventWithdrawal = "template_withdrawal"
	// EventCounterSample is an sFlow sample of an interface's counters, which come by gNMI (collectors/telemetry).
	EventCounterSample = "counter_sample"
)

// Configuration of all exporters.
type Configuration struct {
	// SamplingRate overrides what an exporter says, or fails to say, by its address. Default none.
	SamplingRate map[netip.Addr]uint64 `yaml:"sampling_rate"`
	// DefaultSamplingRate is for exporters that never say. Default 0: unknown.
	DefaultSamplingRate uint64 `yaml:"default_sampling_rate"`
	// MaxSamplingRate is the largest rate that an exporter is believed; above it a rate is unknown. A rate multiplies
	// the bytes of every record, and the fields have room for 2^32. Routers sample one packet in 1 to 65,536. Default
	// 1048576.
	MaxSamplingRate uint64 `yaml:"max_sampling_rate"`
	// MaxAge is how long before its arrival a flow may have started. Exporters report long flows when their active
	// timeout, at most an hour or so, is over. Default 24h.
	MaxAge time.Duration `yaml:"max_age"`
	// MaxAhead is how far in the future a flow may end, for clocks that run ahead. Default 10m.
	MaxAhead time.Duration `yaml:"max_ahead"`
	// TemplateLifetime is how long a template is used after it was last received, and a sampling rate after it was
	// last announced in options: at least three times the exporters' template refresh timeout (RFC 7011 section 8.4).
	// Default 90m, for the 30 minutes that Cisco IOS takes by default.
	TemplateLifetime time.Duration `yaml:"template_lifetime"`
	// MaxSessions bounds the exporters' sockets tracked at once. Beyond it the exporter with most of them loses one:
	// one that never sent a flow first, then the longest idle. Each takes at most 144 KiB beside its templates.
	// Default 1024.
	MaxSessions int `yaml:"max_sessions"`
	// TemplateMemory bounds the templates and announced sampling rates of all exporters, bytes. Beyond it the
	// exporter with most of them loses a session. Default 64 MiB.
	TemplateMemory int `yaml:"template_memory"`
	// MaxDatagramsPerSecond is how many datagrams of one exporter address are taken, so that one cannot keep the others
	// waiting; as many may come at once after a pause. Default 0: no limit.
	MaxDatagramsPerSecond int `yaml:"max_datagrams_per_second"`
	// AcceptUnlisted takes datagrams of any source, not only of the inventory's exporters. Default false.
	AcceptUnlisted bool `yaml:"accept_unlisted"`
}

// DefaultConfiguration suits exporters with clocks set by NTP.
func DefaultConfiguration() Configuration {
	return Configuration{MaxSamplingRate: 1 << 20, MaxAge: 24 * time.Hour, MaxAhead: 10 * time.Minute, TemplateLifetime: 90 * time.Minute, MaxSessions: 1024, TemplateMemory: 64 << 20}
}

// session is one exporter socket and observation domain. Templates and
// sequences belong to it (RFC 7011 sections 3.1 and 8): several exporting
// processes on one router share an address, and often a domain, but no socket.
type session struct {
	key       sessionKey
	lastSeen  time.Time
	templates decode.Templates
	sequence  sequence
	clock     clock
	sampling  sampling
	siblings  *siblings
	borrowed  borrowed
	quality   *quality
	// proven: a flow came of it. Made-up sources seldom get that far.
	proven bool
	// charged is what the table has noted of its memory.
	charged int
	// restored: it was there before the collector was restarted, and has sent nothing since.
	restored bool
}

type sessionKey struct {
	from   netip.AddrPort
	source flowrecord.Source
	domain uint32
}

// take brings a datagram into the session and appends its flows to out.
func (s *session) take(cfg *Configuration, datagram []byte, h decode.Header, at time.Time, m *decode.Message, out []flowrecord.Record) []flowrecord.Record {
	s.lastSeen = at
	rebooted := s.clock.rebooted(h)
	place := s.sequence.place(h, datagram, rebooted)
	if s.restored && rebooted && place == inOrder { // while there was no collector
		place = restarted
	}
	s.restored = false
	switch place {
	case replayed:
		s.quality.drop(ReasonReplayed, 1)
		return out
	case restarted:
		s.restart()
	case renumbered:
		s.quality.event(EventRestart)
	case late:
		s.quality.event(EventLate)
	}
	s.quality.events(EventTemplateExpired, s.templates.Expire(at, cfg.TemplateLifetime))
	expired := s.sampling.expire(cfg.expiry(at))
	s.quality.events(EventSamplingExpired, expired)
	s.quality.rates.expire(cfg.expiry(at))
	m.Reset()
	if err := decode.Decode(datagram, h, &s.templates, m); err != nil {
		s.quality.refuse(err, at)
		s.sequence.lostTrack()
		return out
	}
	s.count(h, m, place, at)
	if place != late && s.clock.observe(h, m, at) {
		s.quality.event(EventClockJump)
	}
	for _, a := range m.Sampling {
		if s.sampling.announce(a, at.Unix()) {
			s.quality.event(EventSamplingChange)
		}
		if a.Rate > cfg.MaxSamplingRate {
			s.quality.event(EventSamplingRefused)
		}
	}
	if s.sampling.header(h, at.Unix()) {
		s.quality.event(EventSamplingChange)
	}
	if h.SamplingRate > cfg.MaxSamplingRate {
		s.quality.event(EventSamplingRefused)
	}
	if len(m.Sampling) > 0 || expired > 0 {
		s.siblings.version++
	}
	if len(m.Sampling) > 0 || h.Source == flowrecord.NetFlowV5 || expired > 0 {
		s.quality.announced(s.key.from.Port(), &s.sampling)
	}
	return s.complete(cfg, h, at, m, out)
}

// restart forgets what a restarted exporter may define anew.
func (s *session) restart() {
	s.quality.event(EventRestart)
	s.templates.Clear()
	s.sampling = sampling{}
	s.siblings.version++
	s.quality.forget(s.key.from.Port())
	s.clock = clock{}
}

func (s *session) count(h decode.Header, m *decode.Message, place place, at time.Time) {
	q := s.quality
	q.templates[s.key.from.Port()] = s.templates.Len()
	q.noTemplate(m.NoTemplate, at)
	q.drop(ReasonNotFlow, m.NotFlows-m.Events)
	q.drop(ReasonEvent, m.Events)
	q.events(EventCounterSample, m.CounterSamples)
	q.drop(ReasonBadTemplate, m.BadTemplates)
	q.events(EventWithdrawal, m.Withdrawals)
	lost, jump := s.sequence.advance(h, m, place)
	q.addLost(lost, at)
	if jump {
		q.event(EventSequenceJump)
	}
}

// complete gives the flows what only the session knows.
func (s *session) complete(cfg *Configuration, h decode.Header, at time.Time, m *decode.Message, out []flowrecord.Record) []flowrecord.Record {
	before := len(out)
	times := s.clock.reader(h)
	oldest, newest := at.Add(-cfg.MaxAge), at.Add(cfg.MaxAhead)
	for i := range m.Flows {
		f := &m.Flows[i]
		out = append(out, f.Record) // a record is large: it is copied once, to where it stays
		r := &out[len(out)-1]
		r.Exporter, r.Domain, r.Source = s.key.from.Addr(), h.Domain, h.Source
		r.Start, r.End = times.of(f)
		r.SamplingRate = s.rate(cfg, f, at)
		if f.Rate > cfg.MaxSamplingRate {
			s.quality.event(EventSamplingRefused)
		}
		if reason := implausible(r, oldest, newest); reason != "" {
			s.quality.implausible(reason, at)
			out = out[:len(out)-1]
		}
	}
	kept := out[before:]
	s.quality.received(at, kept, unitsOf(h, m)[allBefore])
	if rate := s.rate(cfg, &decode.Flow{}, at); rate != 0 {
		s.quality.SamplingRate = rate
	} else if len(kept) > 0 {
		s.quality.SamplingRate = kept[len(kept)-1].SamplingRate
	}
	s.proven = s.proven || len(kept) > 0
	return out
}

// rate is the configured one, else the exporter's, else the default. What an exporter announces on one socket (a line
// card or process) also holds for the others of the domain that announce nothing, if those that do agree; but no rate
// of another sampler holds for a record that names one.
func (s *session) rate(cfg *Configuration, f *decode.Flow, at time.Time) uint64 {
	rate, bySampler := s.sampling.rate(f), false
	if rate == 0 && f.Selector != 0 {
		rate, bySampler = s.named(f.Selector, cfg.expiry(at))
	}
	if rate == 0 && !bySampler {
		rate = s.quality.rates.only()
	}
	return cfg.rate(s.key.from.Addr(), rate)
}

// rate is the one configured for an exporter, else what it said, else the default; 0 where it is not believed.
func (c *Configuration) rate(exporter netip.Addr, said uint64) uint64 {
	if len(c.SamplingRate) > 0 {
		if n, ok := c.SamplingRate[exporter]; ok {
			return n
		}
	}
	if rate := cmp.Or(said, c.DefaultSamplingRate); rate <= c.MaxSamplingRate {
		return rate
	}
	return 0
}

func implausible(r *flowrecord.Record, oldest, newest time.Time) decode.Reason {
	switch {
	case r.End.Before(r.Start):
		return ReasonNegative
	case r.Start.Before(oldest), r.End.After(newest):
		return ReasonTime
	}
	return ""
}
