package kernel

import (
	"fmt"
	"slices"

	"github.com/vishvananda/netlink/nl"
)

// Discipline is how the queue under a class treats packets before its buffer is
// full. Its type chooses the row of leafKinds.
type Discipline interface{ leaf() *leafKind }

// leafKind is a queue discipline of the kernel that may stand under an HTB
// class. Everything that differs between two of them is a field here.
type leafKind struct {
	// name is tc's name of the qdisc, and the name of the feature.
	name string
	// handle is added to the majors of the qdisc's handles: the kernel changes a qdisc in place under its
	// handle but never its kind, so each kind has handles of its own, leafHandles of them.
	handle uint32
	// sample is a discipline of this kind for Probe to try; nil for the kind of a queue without a discipline.
	sample Discipline
	// since is the first kernel that knows the options below; empty if unknown.
	since string
	// options are TCA_OPTIONS of the requests that make the qdisc, in their order.
	options func(Queue) [][]byte
	// want and got describe the options of a queue and those of a dump. Equal texts are equal qdiscs.
	want func(Queue) string
	got  func(options []byte) string
}

// leafKinds are the queue disciplines, one file each: leaf_*.go.
var leafKinds = []*leafKind{&bfifoLeaf, &redLeaf, &gredLeaf}

// Disciplines lists tc's names of the queue disciplines.
func Disciplines() []string {
	var out []string
	for _, k := range leafKinds {
		out = append(out, k.name)
	}
	slices.Sort(out)
	return out
}

// leafHandles is how many handles a kind needs: two generations of 32.
const leafHandles = 0x40

func (q Queue) leaf() *leafKind {
	if q.Discipline == nil {
		return &bfifoLeaf
	}
	return q.Discipline.leaf()
}

// leafHandle is the handle of the qdisc under class q.
func (t tree) leafHandle(q Queue) uint32 {
	return (uint32(leafHandleBase+0x20*t.generation+q.Class) + q.leaf().handle) << 16
}

// leafQdisc returns the requests that make it.
func (t tree) leafQdisc(q Queue) []*nl.NetlinkRequest {
	var reqs []*nl.NetlinkRequest
	for _, options := range q.leaf().options(q) {
		reqs = append(reqs, newQdisc(t.index, t.leafHandle(q), t.class(q.Class), q.leaf().name, options))
	}
	return reqs
}

// leafWant and leafGot describe a qdisc as it should be and as it is, in the same words.
func (t tree) leafWant(q Queue) string {
	return fmt.Sprintf("%s %x %x %s", q.leaf().name, t.leafHandle(q), t.class(q.Class), q.leaf().want(q))
}

func leafGot(o tcObject) string {
	text := fmt.Sprintf("%x", o.Options)
	for _, k := range leafKinds {
		if k.name == o.Kind {
			text = k.got(o.Options)
		}
	}
	return fmt.Sprintf("%s %x %x %s", o.Kind, o.Handle, o.Parent, text)
}
