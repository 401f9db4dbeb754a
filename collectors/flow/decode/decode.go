// Package decode turns one NetFlow v5, v9 or IPFIX datagram into flow records.
//
// In: a datagram and the templates its exporter sent before. Out: a Message
// with the header, the flows and what the exporter says about sampling; times
// and sampling are still in the exporter's own terms. Next:
// collectors/flow/exporter, which knows the exporter's clock and sampling.
//
// Nothing here keeps the datagram's memory, and no datagram whatever may panic
// or allocate more than a small multiple of its own size.
package decode

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

// Decoder decodes the body of a datagram whose header and framing were already
// checked. It appends to m and stores templates in t.
type Decoder interface {
	Decode(datagram []byte, h Header, t *Templates, m *Message) error
}

// Header is what all three formats say first.
type Header struct {
	// Version is 5, 9 or 10 (IPFIX).
	Version uint16
	// Domain is the v9 source id, the IPFIX observation domain, or v5's engine type and id.
	Domain uint32
	// Sequence counts flows sent before (v5), packets (v9) or records (IPFIX).
	Sequence uint32
	// ExportTime is the exporter's clock: whole seconds in v9 and IPFIX.
	ExportTime time.Time
	// Uptime is milliseconds since the exporter started (v5, v9); it wraps after 49.7 days.
	Uptime uint32
	// Count is the number of records (v5 only; v9's is not reliable).
	Count uint16
	// SamplingRate is v5's; 0 where the header does not say.
	SamplingRate uint64
}

// Source names the format.
func (h Header) Source() flowrecord.Source {
	switch h.Version {
	case 5:
		return flowrecord.NetFlowV5
	case 9:
		return flowrecord.NetFlowV9
	case 10:
		return flowrecord.IPFIX
	}
	return flowrecord.SourceUnspecified
}

// Message is a decoded datagram. It is meant to be used again: Reset keeps its memory.
type Message struct {
	Flows    []Flow
	Sampling []Sampling
	// SystemInit is when the exporter started, where IPFIX says so: what its
	// uptimes count from. Zero elsewhere.
	SystemInit time.Time
	// OptionRecords is the number of options data records, which RFC 7011 counts in the sequence.
	OptionRecords int
	// NoTemplate is the number of data sets whose template is not known.
	NoTemplate int
	// NotFlows is the number of data records without addresses or counters.
	NotFlows int
	// BadTemplates is the number of templates that were refused.
	BadTemplates int
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
	// Interface limits the announcement to one ifIndex; 0 is all.
	Interface uint32
	Rate      uint64
}

// Reason is why a datagram was refused.
type Reason string

// Reasons for which a whole datagram is dropped.
const (
	ReasonShort     Reason = "short"           // too short for a header
	ReasonVersion   Reason = "unknown_version" // neither 5, 9 nor 10
	ReasonTruncated Reason = "truncated"       // the header or a set promises more than there is
	ReasonOversized Reason = "oversized"       // bytes after what the header promises
	ReasonEmpty     Reason = "empty"           // nothing behind the header
	ReasonMalformed Reason = "malformed"       // a set or template does not parse
	ReasonPanic     Reason = "decoder_panic"   // the third-party decoder panicked
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
