package scitags

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Firefly is what one datagram says of a flow.
type Firefly struct {
	Src, Dst netip.AddrPort
	// Protocol is the IANA number, of TCP or UDP.
	Protocol uint8
	Tag      Tag
	// Application is the program that moves the data, cut to maxApplication octets.
	Application string
	// Start is when the flow began, and Until when it ended, or until when it is known to have gone on.
	Start, Until time.Time
	Ended        bool
}

// maxApplication keeps the name and version of a program, and no more.
const maxApplication = 64

// What is wrong with a firefly.
var (
	ErrSyntax = errors.New("not a firefly of version 1")
	ErrFlow   = errors.New("the firefly's flow-id is no TCP or UDP flow")
	ErrTag    = fmt.Errorf("the firefly's ids are out of range: want an experiment of 1 to %d and an activity of 0 to %d", MaxCommunity, MaxActivity)
	ErrTime   = errors.New("the firefly's times cannot be")
	// ErrStart is of a flow that goes on: of which, and since when, its start has told.
	ErrStart = errors.New("the firefly has no start-time")
)

// wire is the JSON of a firefly, https://scitags.org/schemas/v1.0.0/firefly.schema.json. Other members are left aside.
type wire struct {
	Version   int `json:"version"`
	Lifecycle struct {
		State   string `json:"state"`
		Current string `json:"current-time"`
		Start   string `json:"start-time"`
		End     string `json:"end-time"`
	} `json:"flow-lifecycle"`
	Flow struct {
		Src      string `json:"src-ip"`
		Dst      string `json:"dst-ip"`
		Protocol string `json:"protocol"`
		SrcPort  uint16 `json:"src-port"`
		DstPort  uint16 `json:"dst-port"`
	} `json:"flow-id"`
	Context struct {
		Experiment  int    `json:"experiment-id"`
		Activity    int    `json:"activity-id"`
		Application string `json:"application"`
	} `json:"context"`
}

// ParseFirefly reads a datagram: JSON, behind a syslog header (RFC 5424) or bare.
func ParseFirefly(datagram []byte) (Firefly, error) {
	var w wire
	at := max(bytes.IndexByte(datagram, '{'), 0)
	if err := json.NewDecoder(bytes.NewReader(datagram[at:])).Decode(&w); err != nil { // what follows is left aside
		return Firefly{}, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	if w.Version != 1 {
		return Firefly{}, fmt.Errorf("%w: its version is %d", ErrSyntax, w.Version)
	}
	f := Firefly{Application: printable(w.Context.Application)}
	return f, errors.Join(f.flow(&w), f.tag(&w), f.times(&w))
}

var protocols = map[string]uint8{"tcp": 6, "udp": 17}

func (f *Firefly) flow(w *wire) error {
	src, err1 := netip.ParseAddr(w.Flow.Src)
	dst, err2 := netip.ParseAddr(w.Flow.Dst)
	src, dst = src.Unmap().WithZone(""), dst.Unmap().WithZone("")
	f.Protocol = protocols[strings.ToLower(w.Flow.Protocol)]
	if err1 != nil || err2 != nil || src.Is4() != dst.Is4() || f.Protocol == 0 || w.Flow.SrcPort == 0 || w.Flow.DstPort == 0 {
		return ErrFlow
	}
	f.Src, f.Dst = netip.AddrPortFrom(src, w.Flow.SrcPort), netip.AddrPortFrom(dst, w.Flow.DstPort)
	return nil
}

func (f *Firefly) tag(w *wire) error {
	e, a := w.Context.Experiment, w.Context.Activity
	if e < 1 || e > MaxCommunity || a < 0 || a > MaxActivity {
		return ErrTag
	}
	f.Tag = Tag{Community: uint16(e), Activity: uint8(a)}
	return nil
}

func (f *Firefly) times(w *wire) error {
	var err1, err2 error
	f.Start, err1 = instant(w.Lifecycle.Start)
	switch strings.ToLower(w.Lifecycle.State) {
	case "start", "ongoing":
		// flowd takes the current time a little before the start's.
		if f.Until, err2 = instant(w.Lifecycle.Current); f.Until.Before(f.Start) {
			f.Until = f.Start
		}
	case "end":
		f.Until, err2 = instant(w.Lifecycle.End)
		f.Ended = true
		if w.Lifecycle.Start == "" { // flowd and flowd-go do not know it where another program tells them of the end
			f.Start = f.Until
		}
	default:
		return fmt.Errorf("%w: its state is %q", ErrSyntax, w.Lifecycle.State)
	}
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("%w: %w", ErrTime, err)
	}
	if f.Ended && (f.Until.IsZero() || f.Until.Before(f.Start)) {
		return fmt.Errorf("%w: an end has an end-time, which is not before the start", ErrTime)
	}
	if f.Start.IsZero() {
		return ErrStart
	}
	return nil
}

// instant is zero where there is none. Times without a zone are in UTC: that is what the specification asks for.
func instant(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		if bare, err := time.Parse("2006-01-02T15:04:05.999999999", s); err == nil {
			return bare, nil
		}
	}
	return t.UTC(), err
}

// printable is text from strangers that may stand in a table.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
	for len(s) > maxApplication {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}
