package linux

import (
	"slices"

	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// class is one HTB leaf as the agent computes it (services/routeragent/intent, ports.go).
type class struct {
	shares.Class
	queue  document.Queue
	number int
	buffer uint64
}

// ranked are the queues in the order in which the agent numbers their classes: by priority.
func ranked(queues []document.Queue) []document.Queue {
	out := slices.Clone(queues)
	slices.SortStableFunc(out, func(a, b document.Queue) int { return int(a.Priority) - int(b.Priority) })
	return out
}

func (w *writer) number(queue string) int {
	return 1 + slices.IndexFunc(ranked(w.plan.Queues), func(q document.Queue) bool { return q.Name == queue })
}

func classesOf(p compile.RouterPlan, port compile.Port) []class {
	p.Queues = ranked(p.At(port).Queues)
	queues, excess := p.Shares()
	var out []class
	for i, c := range shares.Classes(queues, uint64(port.Speed), excess) {
		out = append(out, class{Class: c, queue: p.Queues[i], number: i + 1, buffer: shares.Buffer(p.BufferBytes(port.Speed, p.Queues[i]))})
	}
	return out
}
