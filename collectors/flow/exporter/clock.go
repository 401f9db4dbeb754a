package exporter

import (
	"time"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/internal/flowrecord"
)

// jumpLimit is how much the exporter's clock may move against ours between two
// datagrams before it counts as a jump; a queue on the way moves it a little.
const jumpLimit = 5 * time.Second

// clock turns an exporter's uptime into time.
type clock struct {
	begun  bool
	offset time.Duration // of our clock from the exporter's
	// boot is when the exporter started, by its own clock. Every datagram says
	// when that was, in whole seconds rounded down, so the latest of these
	// answers is the nearest to the truth, and records of different datagrams
	// do not shift against each other by up to a second.
	boot time.Time
}

// observe learns from a header and reports whether the exporter's clock jumped.
func (c *clock) observe(h decode.Header, m *decode.Message, at time.Time) (jumped bool) {
	offset := at.Sub(h.ExportTime)
	jumped = c.begun && (offset-c.offset).Abs() > jumpLimit
	c.begun, c.offset = true, offset
	if h.Source == flowrecord.IPFIX {
		if !m.SystemInit.IsZero() {
			c.boot = m.SystemInit
		}
		return jumped
	}
	boot := h.ExportTime.Add(-milliseconds(h.Uptime))
	// Outside of one second's rounding, the clock was set or has drifted.
	if jumped || c.boot.IsZero() || boot.After(c.boot) || c.boot.Sub(boot) > time.Second {
		c.boot = boot
	}
	return jumped
}

// rebooted reports whether the exporter says it started later than it said before. IPFIX does not say it: there,
// templates are replaced by new ones of their number (RFC 7011 section 8.4) rather than forgotten.
func (c *clock) rebooted(h decode.Header) bool {
	if h.Source == flowrecord.IPFIX || c.boot.IsZero() {
		return false
	}
	return h.ExportTime.Add(-milliseconds(h.Uptime)).Sub(c.boot) > jumpLimit
}

// reader reads the times of one datagram's flows.
type reader struct {
	exported time.Time
	// at is when the exporter's uptime was so much; zero where nobody says when it started.
	at     time.Time
	uptime uint32
}

// reader has what uptimes count back from. IPFIX has none in its header, but may say when the exporter started.
func (c *clock) reader(h decode.Header) reader {
	switch {
	case h.Source != flowrecord.IPFIX:
		return reader{h.ExportTime, c.boot.Add(milliseconds(h.Uptime)), h.Uptime}
	case !c.boot.IsZero():
		return reader{h.ExportTime, h.ExportTime, uint32(h.ExportTime.Sub(c.boot).Milliseconds())}
	}
	return reader{exported: h.ExportTime}
}

// of are a flow's start and end. An exporter that names neither is taken to
// report at the flow's end, and so is one that names uptimes alone.
func (r *reader) of(f *decode.Flow) (start, end time.Time) {
	switch {
	case f.Relative && r.at.IsZero():
		return r.exported.Add(-milliseconds(f.Last - f.First)), r.exported
	case f.Relative:
		return absoluteAt(r.at, r.uptime, f.First), absoluteAt(r.at, r.uptime, f.Last)
	}
	start, end = f.Record.Start, f.Record.End
	if end.IsZero() {
		end = r.exported
	}
	if start.IsZero() {
		start = end
	}
	return start, end
}

// absoluteAt is modular: an uptime wraps after 49.7 days, and a flow's first
// packet may lie before the wrap.
func absoluteAt(now time.Time, uptimeNow, uptime uint32) time.Time {
	return now.Add(-time.Duration(int32(uptimeNow-uptime)) * time.Millisecond)
}

func milliseconds(n uint32) time.Duration { return time.Duration(n) * time.Millisecond }
