package document

import (
	"fmt"
	"slices"
)

// word is a value out of a fixed list; 0 is the first.
func word[T ~uint8](into *T, text []byte, words []string, what string) error {
	i := slices.Index(words, string(text))
	if i < 0 {
		return fmt.Errorf("%q is not %s", text, what)
	}
	*into = T(i)
	return nil
}

func wordOf[T ~uint8](v T, words []string) string { return words[min(int(v), len(words)-1)] }

// Priority orders queues; 0 is served first.
type Priority uint8

// priorities are the keywords of Junos (paper 002 and 004 use them), served first to last.
var priorities = []string{"strict-high", "high", "medium-high", "medium-low", "low"}

// String is the word in the file.
func (p Priority) String() string { return wordOf(p, priorities) }

// MarshalText implements encoding.TextMarshaler.
func (p Priority) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Priority) UnmarshalText(text []byte) error { return word(p, text, priorities, "a priority") }

// Excess is how queues of one priority share what others leave.
type Excess uint8

// Weighted shares the excess in proportion to the weights, equal in equal parts.
const (
	ExcessWeighted Excess = iota
	ExcessEqual
)

var excesses = []string{"weighted", "equal"}

func (e Excess) String() string { return wordOf(e, excesses) }

// MarshalText implements encoding.TextMarshaler.
func (e Excess) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (e *Excess) UnmarshalText(text []byte) error {
	return word(e, text, excesses, "a way to share the excess")
}

// Partition is whether queues lend each other rate.
type Partition uint8

// The two modes of paper 002, experiment 1.
const (
	WorkConserving Partition = iota
	Strict
)

var partitions = []string{"work-conserving", "strict"}

func (p Partition) String() string { return wordOf(p, partitions) }

// MarshalText implements encoding.TextMarshaler.
func (p Partition) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Partition) UnmarshalText(text []byte) error {
	return word(p, text, partitions, "a mode of partition")
}

// Ports is which ports get queues.
type Ports uint8

// The sets of ports.
const (
	// PortsDefault is PortsPath without classes, PortsAll with.
	PortsDefault Ports = iota
	PortsPath
	PortsCore
	PortsAll
)

var portSets = []string{"", "path", "core", "all"}

func (p Ports) String() string { return wordOf(p, portSets) }

// MarshalText implements encoding.TextMarshaler.
func (p Ports) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Ports) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("%q is not a set of ports", text)
	}
	return word(p, text, portSets, "a set of ports")
}

// Where is on which interfaces arriving packets are looked at.
type Where uint8

// The places. Edge interfaces have customers behind them, core interfaces are links.
const (
	WhereDefault Where = iota
	WhereEdge
	WhereCore
	WhereAll
)

var places = []string{"", "edge", "core", "all"}

func (w Where) String() string { return wordOf(w, places) }

// MarshalText implements encoding.TextMarshaler.
func (w Where) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *Where) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("%q is not a place", text)
	}
	return word(w, text, places, "a place")
}

// Follow is what is done about the share that a law finds for beta.
type Follow uint8

// Off does nothing. Propose requests a change set that a person decides on, Apply one under the approval rule.
const (
	FollowOff Follow = iota
	FollowPropose
	FollowApply
)

var follows = []string{"off", "propose", "apply"}

func (f Follow) String() string { return wordOf(f, follows) }

// MarshalText implements encoding.TextMarshaler.
func (f Follow) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Follow) UnmarshalText(text []byte) error {
	return word(f, text, follows, "a way to follow a split")
}

// LossPriority is how readily a packet is dropped; 0 means that none was given, which acts as low.
type LossPriority uint8

// Junos' names of the colours.
const (
	LossUnset LossPriority = iota
	LossLow
	LossMediumLow
	LossMediumHigh
	LossHigh
)

var lossPriorities = []string{"", "low", "medium-low", "medium-high", "high"}

func (l LossPriority) String() string { return wordOf(l, lossPriorities) }

// MarshalText implements encoding.TextMarshaler.
func (l LossPriority) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *LossPriority) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("%q is not a loss priority", text)
	}
	return word(l, text, lossPriorities, "a loss priority")
}
