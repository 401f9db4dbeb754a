package linux

import (
	"slices"
	"time"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// class is one HTB leaf as the agent computes it (services/routeragent/intent, ports.go).
type class struct {
	queue    document.Queue
	number   int
	rate     uint64
	ceil     uint64
	priority int
	quantum  uint64
	buffer   uint64
}

const (
	packet     = 1514
	leastRate  = 8000
	mostRound  = 200_000
	leastBytes = 1600
	mostBytes  = 1 << 30
)

// ranked are the queues in the order the agent numbers them: by priority.
func ranked(queues []document.Queue) []document.Queue {
	out := slices.Clone(queues)
	slices.SortStableFunc(out, func(a, b document.Queue) int { return int(a.Priority) - int(b.Priority) })
	return out
}

func (w *writer) number(queue string) int {
	return 1 + slices.IndexFunc(ranked(w.plan.Queues), func(q document.Queue) bool { return q.Name == queue })
}

func classesOf(p compile.RouterPlan, port compile.Port) []class {
	queues := ranked(p.Queues)
	least := uint64(0)
	for _, q := range queues {
		if w := uint64(q.Weight); w > 0 && (least == 0 || w < least) {
			least = w
		}
	}
	var out []class
	priority := 0
	for i, q := range queues {
		if i > 0 && q.Priority != queues[i-1].Priority {
			priority++
		}
		out = append(out, classOf(p, port.Speed, q, class{queue: q, number: i + 1, priority: priority}, least))
	}
	return out
}

func classOf(p compile.RouterPlan, speed units.Rate, q document.Queue, c class, least uint64) class {
	line := uint64(speed)
	c.rate, c.ceil, c.quantum = max(line*uint64(q.Weight)/100, leastRate), line, packet
	limit := uint64(q.MaxRate)
	if p.Scheduling.Partition == document.Strict {
		limit = uint64(q.Weight)
	}
	if limit > 0 {
		c.ceil = line * limit / 100
		c.rate = min(c.rate, c.ceil)
	}
	if p.Scheduling.Excess == document.ExcessWeighted && q.Weight > 0 {
		c.quantum = packet * uint64(q.Weight) / least
		if packet*100/least > mostRound {
			c.quantum = max(mostRound*uint64(q.Weight)/100, packet)
		}
	}
	whole := float64(line) / 8 * time.Duration(p.BufferTime).Seconds()
	c.buffer = min(max(uint64(whole*float64(q.Buffer)/100), leastBytes), mostBytes)
	return c
}
