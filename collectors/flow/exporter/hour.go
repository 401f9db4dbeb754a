package exporter

import (
	"net/netip"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

// Hour is how complete one exporter's export was in one hour, by observation domain and format: what services/alpha
// judges it by. Unlike Quality it is kept, so that a restart forgets nothing and a bad hour weighs no longer than it is
// looked at.
type Hour struct {
	Exporter netip.Addr
	Domain   uint32
	Source   flowrecord.Source
	Start    time.Time
	// Revision grows with each reading of the table.
	Revision uint64
	// Datagrams were taken; Refused did not decode, or were above the exporter's rate.
	Datagrams, Refused uint64
	// Records were taken; of UnknownRate among them the sampling rate is not known. OutOfRange were dropped for their
	// times.
	Records, UnknownRate, OutOfRange uint64
	// Received and Lost are by sequence number: packets in v9, else records.
	Received, Lost uint64
	// NoTemplate counts data sets.
	NoTemplate uint64
	// SocketDrops are datagrams that the kernel had no room for; of the collector itself only.
	SocketDrops uint64
}

// Hours are the hour under way and the one before, in which what comes late still counts.
type Hours struct {
	last   [2]Hour // newest first; Start is zero where there was none
	dirty  [2]bool
	former []Hour // changed, and moved out before they were read
}

// At is the hour to count in. A clock that was set back by more than an hour counts in a new one.
func (h *Hours) At(now time.Time) *Hour {
	start := now.UTC().Truncate(time.Hour)
	for i := range h.last {
		if h.last[i].Start.Equal(start) {
			h.dirty[i] = true
			return &h.last[i]
		}
	}
	if h.dirty[1] {
		h.former = append(h.former, h.last[1])
	}
	h.last[1], h.dirty[1] = h.last[0], h.dirty[0]
	h.last[0], h.dirty[0] = Hour{Start: start}, true
	return &h.last[0]
}

// Changed lists what was counted in since it was last requested.
func (h *Hours) Changed() []Hour {
	out := h.former
	h.former = nil
	for i := range h.last {
		if h.dirty[i] {
			out = append(out, h.last[i])
			h.dirty[i] = false
		}
	}
	return out
}

// loss is what was lost and received in this hour and the one before.
func (h *Hours) loss(now time.Time) (lost, received uint64) {
	for _, hour := range h.last {
		if !hour.Start.IsZero() && now.Sub(hour.Start) < 2*time.Hour {
			lost, received = lost+hour.Lost, received+hour.Received
		}
	}
	return lost, received
}
