package kernel

import (
	"fmt"

	"github.com/vishvananda/netlink/nl"
)

// The queue under a class: bfifo, red or gred. The kernel changes a qdisc in
// place under its handle but never its kind, so each kind has handles of its own.
var leafKinds = map[string]uint32{"bfifo": 0, "red": 0x40, "gred": 0x80}

func (q Queue) kind() string {
	switch {
	case q.RED != nil:
		return "red"
	case q.WRED != [lossPriorities]*DropProfile{}:
		return "gred"
	}
	return "bfifo"
}

// leafHandle is the handle of the queue under class q.
func (t tree) leafHandle(q Queue) uint32 {
	return uint32(leafHandleBase+0x20*t.generation+q.Class)<<16 + leafKinds[q.kind()]<<16
}

// leafQdisc returns the requests that make it.
func (t tree) leafQdisc(q Queue) []*nl.NetlinkRequest {
	handle, class := t.leafHandle(q), t.class(q.Class)
	switch q.kind() {
	case "red":
		return []*nl.NetlinkRequest{newQdisc(t.index, handle, class, "red", redOptions(*q.RED, q.Buffer))}
	case "gred":
		reqs := []*nl.NetlinkRequest{newQdisc(t.index, handle, class, "gred", gredTable(q.Buffer))}
		for dp, c := range q.WRED {
			reqs = append(reqs, newQdisc(t.index, handle, class, "gred", gredQueue(dp, c, q.Buffer)))
		}
		return reqs
	}
	return []*nl.NetlinkRequest{newQdisc(t.index, handle, class, "bfifo", fifoLimit(q.Buffer))}
}

// leafWant and leafHeld describe a queue in the same words.
func (t tree) leafWant(q Queue) string {
	what := ""
	switch q.kind() {
	case "red":
		what = redCanonical(redOptions(*q.RED, q.Buffer))
	case "gred":
		what = gredWant(q.WRED, q.Buffer)
	default:
		what = fmt.Sprintf("%x", fifoLimit(q.Buffer))
	}
	return fmt.Sprintf("%s %x %x %s", q.kind(), t.leafHandle(q), t.class(q.Class), what)
}

func leafHeld(o tcObject) string {
	what := fmt.Sprintf("%x", o.Options)
	switch o.Kind {
	case "red":
		what = redCanonical(o.Options)
	case "gred":
		what = gredCanonical(o.Options)
	}
	return fmt.Sprintf("%s %x %x %s", o.Kind, o.Handle, o.Parent, what)
}
