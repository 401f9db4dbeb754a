package admit

import (
	"fmt"
	"slices"

	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/graph"
)

// ask is a request with its names looked up.
type ask struct {
	*Book
	Request
	from, to int32
	// noLinks and noNodes are those that it names not to be used, apart those that other circuits bar.
	noLinks, noNodes []int32
	apart            []bool
	// excluded are links that are barred by one of these, risky are those and links of excluded risk groups, barred are
	// those and links of other administrative groups.
	excluded, risky, barred []bool
	via                     []int32
	// effort is what this search has in common with others; nil: it has all of its own.
	effort *effort
	// maxDelay and maxHops are bounds that are always there.
	maxDelay int64
	maxHops  int32
}

// noBound is a delay that no path has.
const noBound = 1 << 62

// look looks the names of a request up.
func (b *Book) look(r Request) (*ask, *Refusal) {
	if refusal := r.check(); refusal != nil {
		return nil, refusal
	}
	a := &ask{Book: b, Request: r, apart: make([]bool, b.graph.Links()), excluded: make([]bool, b.graph.Links()), maxDelay: noBound, maxHops: noHops}
	a.risky, a.barred = a.excluded, a.excluded
	if r.MaxDelay > 0 {
		a.maxDelay = r.MaxDelay
	}
	if r.MaxHops > 0 {
		a.maxHops = int32(r.MaxHops)
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
	for _, bar := range []func() *Refusal{a.barPlain, a.barLinks, a.barNodes, a.barCircuits, a.barRiskGroups, a.barGroups, a.lookVia} {
		if refusal := bar(); refusal != nil {
			return nil, refusal
		}
	}
	return a, nil
}

func (a *ask) barPlain() *Refusal {
	for _, n := range a.plainBetween() {
		a.barNode(n)
	}
	return nil
}

// plainBetween are the routers that run no segment routing, but for the circuit's ends.
func (a *ask) plainBetween() []int32 {
	return slices.DeleteFunc(slices.Clone(a.plain), func(n int32) bool { return n == a.from || n == a.to })
}

func (a *ask) barLinks() *Refusal {
	for _, id := range a.WithoutLinks {
		l, ok := a.graph.LinkIndex(id)
		if !ok {
			return badRequest("without_links", fmt.Sprintf("there is no link %q", id))
		}
		a.excluded[l] = true
		a.noLinks = append(a.noLinks, l)
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
		a.noNodes = append(a.noNodes, n)
		a.barNode(n)
	}
	return nil
}

func (a *ask) barNode(n int32) {
	for _, l := range a.graph.In(n) {
		a.excluded[l] = true
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
	for l, apart := range a.apart {
		a.excluded[l] = a.excluded[l] || apart
	}
	return nil
}

// barShared bars what may fail together with a link: the link, those between the same routers the other way, and those
// that share a risk group with it.
func (a *ask) barShared(l int32) {
	a.apart[l] = true
	first, end := a.graph.Out(a.graph.To(l))
	for back := first; back < end; back++ {
		a.apart[back] = a.apart[back] || a.graph.To(back) == a.graph.From(l)
	}
	for _, group := range a.graph.Link(l).SRLGs {
		for _, member := range a.graph.Members(group) {
			a.apart[member] = true
		}
	}
}

// delay of a link counts only where there is a bound, or where it is the metric.
func (a *ask) delay(l int32) (delay int64, ok bool) {
	if !a.timed() {
		return 0, true
	}
	d := a.graph.Weights(graph.Delay)[l]
	return int64(d), d != graph.DelayUnknown
}

// free is the least free rate of a link in a window.
func (a *ask) free(l int32, w calendar.Window) int64 { return a.links[l].LeastFree(w, a.Cap) }
