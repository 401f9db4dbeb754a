package discipline

import (
	"maps"
	"slices"
)

// Discipline is how a queue drops packets that its buffer has room for. Each is a
// file drop_*.go and a row of disciplines.
type Discipline interface {
	// probability that an arriving packet is dropped, by its colour and the occupancy of the buffer; all from 0 to 1.
	probability(colour uint8, fill float64) float64
	// check reports what is wrong with the values.
	check() error
}

// disciplines are the queue disciplines by the name of the router's qdisc (services/routeragent/kernel, leaf.go). The
// values are samples; a queue without a Discipline is the router's bfifo.
var disciplines = map[string]Discipline{
	"bfifo": nil,
	"red":   RED{Max: 1, Probability: 1},
	"gred":  WRED{High: {Max: 1, Probability: 1}},
}

// Disciplines lists the router's qdiscs that can be simulated.
func Disciplines() []string { return slices.Sorted(maps.Keys(disciplines)) }
