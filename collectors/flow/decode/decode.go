// Package decode turns one NetFlow v5, v9, IPFIX or sFlow v5 datagram into flow records.
//
// In: a datagram and the templates its exporter sent before. Out: a Message
// with the header, the flows and what the exporter says about sampling; times
// and sampling are still in the exporter's own terms. Next:
// collectors/flow/exporter, which knows the exporter's clock and sampling.
//
// A template is compiled once, into the places of the fields that are read
// (template.go); records are then read without looking at it again, and nothing
// is allocated per datagram. Nothing here keeps the datagram's memory, and no
// datagram whatever may panic or allocate more than a small multiple of its size.
package decode

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

// Decode decodes the body of a datagram whose header and framing ParseHeader has checked. It appends to m and stores
// templates in t. Where it returns an error, what stands in m is not to be used.
func Decode(d []byte, h Header, t *Templates, m *Message) (err error) {
	defer func() {
		// A defect of this package must cost one datagram, not the collector.
		if r := recover(); r != nil {
			err = &Refusal{Reason: ReasonPanic, Err: fmt.Errorf("%v", r)}
		}
	}()
	switch h.Source {
	case flowrecord.NetFlowV5:
		m.v5(d)
		return nil
	case flowrecord.SFlow:
		return m.sflow(d)
	case flowrecord.NetFlowV9:
		return m.sets(v9Sets(d), h, t)
	}
	return m.sets(d[ipfixHeader:], h, t)
}

// Header is what all formats say first.
type Header struct {
	// Source is the format.
	Source flowrecord.Source
	// Domain is the v9 source id, the IPFIX observation domain, v5's engine type and id, or sFlow's sub-agent id.
	Domain uint32
	// Sequence counts flows sent before (v5), packets (v9, sFlow) or records (IPFIX).
	Sequence uint32
	// ExportTime is the exporter's clock: whole seconds in v9 and IPFIX; zero in sFlow, which does not say it.
	ExportTime time.Time
	// Uptime is milliseconds since the exporter started (v5, v9, sFlow); it wraps after 49.7 days.
	Uptime uint32
	// Count is the number of records (v5 only; v9's is not reliable).
	Count uint16
	// SamplingRate is v5's; 0 where the header does not say.
	SamplingRate uint64
}

// Message is a decoded datagram. It is meant to be used again: Reset keeps its memory.
type Message struct {
	Flows    []Flow
	Sampling []Sampling
	// SystemInit is when the exporter started, where IPFIX says so: what its
	// uptimes count from. Zero elsewhere.
	SystemInit time.Time
	// Records is the number of data records that are no options: those behind Flows, of which a biflow (RFC 5103)
	// gives two, and NotFlows.
	Records int
	// OptionRecords is the number of options data records, which RFC 7011 counts in the sequence.
	OptionRecords int
	// NoTemplate is the number of data sets whose template is not known.
	NoTemplate int
	// NotFlows is the number of data records without addresses or counters, and of sFlow samples of packets that are
	// not IP.
	NotFlows int
	// Events is how many of NotFlows report a NAT or firewall event.
	Events int
	// CounterSamples is the number of sFlow's samples of interface counters.
	CounterSamples int
	// BadTemplates is the number of templates that were refused.
	BadTemplates int
	// Withdrawals is the number of IPFIX template withdrawals, which are ignored: there are none over UDP (RFC 7011
	// section 8.4).
	Withdrawals int
}

// Reset empties m.
func (m *Message) Reset() {
	*m = Message{Flows: m.Flows[:0], Sampling: m.Sampling[:0]}
}

// Flow is a record with its times and sampling as the exporter put them.
type Flow struct {
	// Record lacks Exporter, Domain, Source and whatever stands below.
	Record flowrecord.Record
	// Relative says that First and Last, milliseconds of exporter uptime, hold
	// instead of Record.Start and Record.End.
	Relative    bool
	First, Last uint32
	// Selector is the id of the sampler that took the flow's packets, 0 if none is named.
	Selector uint64
	// Rate is the sampling rate named in the record itself, or 0.
	Rate uint64
}

// Sampling is an options record that announces a rate.
type Sampling struct {
	// Selector is the sampler's id, or 0.
	Selector uint64
	// Interface limits the announcement to one ifIndex, the input where input and output are named; 0 is all.
	Interface uint32
	Rate      uint64
}

// Reason is why a datagram was refused.
type Reason string

// Reasons for which a whole datagram is dropped.
const (
	ReasonShort     Reason = "short"           // too short for a header
	ReasonVersion   Reason = "unknown_version" // neither NetFlow v5, v9, IPFIX nor sFlow v5
	ReasonTruncated Reason = "truncated"       // the header or a set promises more than there is
	ReasonOversized Reason = "oversized"       // bytes after what the header promises
	ReasonEmpty     Reason = "empty"           // nothing behind the header
	ReasonMalformed Reason = "malformed"       // a set or template does not parse
	ReasonPanic     Reason = "decoder_panic"   // a defect of this package
)

// Refusal is the error of a dropped datagram.
type Refusal struct {
	Reason Reason
	Err    error // the detail, or nil
}

func (r *Refusal) Error() string {
	if r.Err == nil {
		return string(r.Reason)
	}
	return fmt.Sprintf("%s: %v", r.Reason, r.Err)
}

func (r *Refusal) Unwrap() error { return r.Err }
