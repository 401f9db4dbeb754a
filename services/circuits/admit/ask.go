package admit

import (
	"fmt"

	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/graph"
)

// ask is a request with its names looked up.
type ask struct {
	*Book
	Request
	from, to int32
	// barred are links that the request must not use.
	barred []bool
	// maxDelay is a bound that is always there.
	maxDelay int64
}

// noBound is a delay that no path has.
const noBound = 1 << 62

// look looks the names of a request up.
func (b *Book) look(r Request) (*ask, *Refusal) {
	if refusal := r.check(); refusal != nil {
		return nil, refusal
	}
	a := &ask{Book: b, Request: r, barred: make([]bool, b.graph.Links()), maxDelay: noBound}
	if r.MaxDelay > 0 {
		a.maxDelay = r.MaxDelay
	}
	if _, taken := b.circuits[r.ID]; taken {
		return nil, badRequest("id", fmt.Sprintf("there is a circuit %q", r.ID))
	}
	var ok bool
	if a.from, ok = b.graph.NodeIndex(r.From); !ok {
		return nil, badRequest("from", fmt.Sprintf("there is no router %q", r.From))
	}
	if a.to, ok = b.graph.NodeIndex(r.To); !ok {
		return nil, badRequest("to", fmt.Sprintf("there is no router %q", r.To))
	}
	for _, bar := range []func() *Refusal{a.barLinks, a.barNodes, a.barCircuits} {
		if refusal := bar(); refusal != nil {
			return nil, refusal
		}
	}
	return a, nil
}

func (a *ask) barLinks() *Refusal {
	for _, id := range a.WithoutLinks {
		l, ok := a.graph.LinkIndex(id)
		if !ok {
			return badRequest("without_links", fmt.Sprintf("there is no link %q", id))
		}
		a.barred[l] = true
	}
	return nil
}

func (a *ask) barNodes() *Refusal {
	for _, id := range a.WithoutNodes {
		n, ok := a.graph.NodeIndex(id)
		if !ok {
			return badRequest("without_nodes", fmt.Sprintf("there is no router %q", id))
		}
		if n == a.from || n == a.to {
			return badRequest("without_nodes", fmt.Sprintf("%q is an end of the circuit", id))
		}
		a.barNode(n)
	}
	return nil
}

func (a *ask) barNode(n int32) {
	for _, l := range a.graph.In(n) {
		a.barred[l] = true
	}
}

func (a *ask) barCircuits() *Refusal {
	for _, id := range a.ApartFrom {
		k, ok := a.circuits[id]
		if !ok {
			return badRequest("apart_from", fmt.Sprintf("there is no circuit %q", id))
		}
		for _, l := range k.links {
			a.barShared(l)
		}
	}
	return nil
}

// barShared bars what may fail together with a link: the link, those between the same routers the other way, and those
// that share a risk group with it.
func (a *ask) barShared(l int32) {
	a.barred[l] = true
	first, end := a.graph.Out(a.graph.To(l))
	for back := first; back < end; back++ {
		a.barred[back] = a.barred[back] || a.graph.To(back) == a.graph.From(l)
	}
	for _, group := range a.graph.Link(l).SRLGs {
		for _, member := range a.graph.Members(group) {
			a.barred[member] = true
		}
	}
}

// delay of a link counts only where there is a bound.
func (a *ask) delay(l int32) (delay int64, ok bool) {
	if a.maxDelay == noBound {
		return 0, true
	}
	d := a.graph.Weights(graph.Delay)[l]
	return int64(d), d != graph.DelayUnknown
}

// free is the least free rate of a link in a window.
func (a *ask) free(l int32, w calendar.Window) int64 { return a.links[l].LeastFree(w, a.Cap) }
