// Package document reads what operators write: a policy file, strictly, with
// the place of every error and what to write instead.
//
// In: YAML text (policies/*.yaml). Out: a Policy that keeps every rule below,
// or the list of Problems. Next: services/policy/compile.
package document

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/units"
)

// Policy is one file: how ports share their rate among queues, and which
// traffic goes to which queue and path.
//
// Every field's `policy` tag is its name in the file; policies/schema.json
// describes the same fields for editors, and a test keeps the two alike.
type Policy struct {
	// Name is how commands and change sets call it.
	Name string `policy:"policy,required" want:"a name of a-z, 0-9 and -, such as hntes-two-queue"`
	// Description is for people.
	Description string `policy:"description" want:"one sentence in quotes"`
	// BufferTime is a port's whole buffer as time at line rate; shares below are of it. Default 100ms:
	// the 125 MB that paper 002 measured behind a 10 Gbit/s port (section III-B).
	BufferTime Duration `policy:"buffer_time" want:"a duration such as 100ms"`
	// Queues share each port Millrace schedules.
	Queues []Queue `policy:"queues,required" want:"a list of queues, each beginning with - name:"`
	// Redirect says which traffic leaves the default queue and path.
	Redirect []Redirect `policy:"redirect,required" want:"a list of rules, each beginning with - pairs:"`
}

// Queue is one class of service on every scheduled port.
type Queue struct {
	// Name becomes te-<name> on routers.
	Name string `policy:"name,required" want:"a name of a-z, 0-9 and -, such as alpha"`
	// ID is the hardware queue number; routers put packets no rule claims into the lowest.
	ID uint8 `policy:"id,required" want:"a whole number from 0 to 7"`
	// Weight is the guaranteed share of the port's rate, percent; what others leave may be used too.
	Weight uint8 `policy:"weight,required" want:"a whole number of percent from 0 to 100, such as 95"`
	// Buffer is the queue's own share of the port's buffer, percent.
	Buffer uint8 `policy:"buffer,required" want:"a whole number of percent from 0 to 100, such as 95"`
	// Priority is the order of service among queues within their guarantee.
	Priority Priority `policy:"priority,required" want:"one of strict-high, high, medium-high, medium-low, low"`
	// Default marks the queue of packets no rule claims.
	Default bool `policy:"default" want:"true or false"`
}

// Redirect sends pairs of prefixes over an LSP and through a queue.
type Redirect struct {
	// Pairs names the source of the pairs; alpha: every pair services/alpha has in force.
	Pairs Source `policy:"pairs,required" want:"alpha"`
	// Queue is where the pairs' packets wait, on every router of their way.
	Queue string `policy:"queue,required" want:"the name of one of the queues"`
	// LSP constrains the path.
	LSP LSP `policy:"lsp" want:"avoid_shortest: and min_bandwidth: below it"`
}

// LSP is what the explicit path must keep.
type LSP struct {
	// AvoidShortest keeps off the links of the shortest path where there is another (paper 002, section I).
	AvoidShortest bool `policy:"avoid_shortest" want:"true or false"`
	// MinBandwidth is what every link of the path must have.
	MinBandwidth units.Rate `policy:"min_bandwidth" want:"a rate such as 50Mbit/s"`
}

// Source names where pairs come from.
type Source string

// SourceAlpha is the only source there is.
const SourceAlpha Source = "alpha"

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Source) UnmarshalText(text []byte) error {
	if Source(text) != SourceAlpha {
		return fmt.Errorf("%q is not a source of pairs", text)
	}
	*s = SourceAlpha
	return nil
}

// Priority orders queues; 0 is served first.
type Priority uint8

// priorities are Junos' words (paper 002 and 004 use them), served first to last.
var priorities = []string{"strict-high", "high", "medium-high", "medium-low", "low"}

// String is the word in the file.
func (p Priority) String() string { return priorities[min(int(p), len(priorities)-1)] }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Priority) UnmarshalText(text []byte) error {
	for i, word := range priorities {
		if word == string(text) {
			*p = Priority(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not a priority", text)
}

// Duration is a time.Duration written as text.
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is not a duration above zero", text)
	}
	*d = Duration(v)
	return nil
}

func defaultPolicy() *Policy {
	return &Policy{BufferTime: Duration(100 * time.Millisecond)}
}

// QueueByName finds a queue.
func (p *Policy) QueueByName(name string) (Queue, bool) {
	for _, q := range p.Queues {
		if q.Name == name {
			return q, true
		}
	}
	return Queue{}, false
}
