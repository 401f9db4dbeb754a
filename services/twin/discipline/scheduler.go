package discipline

import (
	"math"

	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/services/twin/traffic"
)

// Item is a packet in a queue.
type Item struct {
	// ID is a value of the caller.
	ID int32
	// Size in bytes on the wire.
	Size int32
	// Tag is another value of the caller.
	Tag int32
}

// Counters of one queue.
type Counters struct {
	InPackets, InBytes   int64
	OutPackets, OutBytes int64
	// TailDrops found the buffer full; EarlyDrops were drawn by the discipline.
	TailDrops, EarlyDrops int64
}

// Never is later than any run.
const Never Time = math.MaxInt64

// Scheduler is one port's queues.
type Scheduler struct {
	Config
	random *traffic.Random
	queues [MaxQueues]state
	total  int
	// clock is the virtual time of fair queueing in each stage: the start tag last served.
	clock [2]float64
}

type state struct {
	items Ring[Item]
	bytes int64
	// credit is unused guarantee in bytes, room unused ceiling; both as of seen.
	credit, room float64
	seen         Time
	rate, ceil   float64    // bytes per Time; no ceiling: 0
	quantum      float64    // share of the excess, in frames per round
	priority     int        // 0 first
	tag          [2]float64 // start tags of fair queueing: within and beyond the guarantee
	Counters
}

// New makes the queues empty and their credit full. Check the configuration first.
func New(c Config, random *traffic.Random) *Scheduler {
	if c.Burst == 0 {
		c.Burst = DefaultBurst
	}
	s := &Scheduler{Config: c, random: random}
	for i, class := range c.Classes() {
		st := &s.queues[i]
		st.rate = float64(class.Rate) / 8 / float64(Second)
		if class.Ceil < uint64(c.Rate) {
			st.ceil = float64(class.Ceil) / 8 / float64(Second)
		}
		st.credit, st.room = c.Burst, c.Burst
		st.quantum = float64(class.Quantum) / shares.MinQuantum
		st.priority = class.Priority
	}
	return s
}

// Empty reports whether no packet waits.
func (s *Scheduler) Empty() bool { return s.total == 0 }

// Backlog of a queue in bytes.
func (s *Scheduler) Backlog(queue int) int64 { return s.queues[queue].bytes }

// Counters of a queue.
func (s *Scheduler) Counters(queue int) Counters { return s.queues[queue].Counters }

// Waiting is the number of packets in all queues.
func (s *Scheduler) Waiting() int { return s.total }

// Drain empties the queues and returns their packets, by queue and in order.
func (s *Scheduler) Drain() [][]Item {
	out := make([][]Item, len(s.Config.Queues))
	for i := range out {
		for st := &s.queues[i]; st.items.Len() > 0; {
			item := st.items.Pop()
			st.bytes -= int64(item.Size)
			out[i] = append(out[i], item)
		}
	}
	s.total = 0
	return out
}

// Enqueue puts a packet into a queue, or reports that it was dropped.
func (s *Scheduler) Enqueue(queue, colour uint8, item Item) bool {
	q, st := &s.Config.Queues[queue], &s.queues[queue]
	if q.Limit > 0 {
		if st.bytes+int64(item.Size) > q.Limit {
			st.TailDrops++
			return false
		}
		if q.Discipline != nil {
			p := q.Discipline.probability(colour, float64(st.bytes)/float64(q.Limit))
			if p > 0 && s.random.Float() < p {
				st.EarlyDrops++
				return false
			}
		}
	}
	if st.items.Len() == 0 {
		// A queue that comes back does not claim what it did not use.
		st.tag[0] = max(st.tag[0], s.clock[0])
		st.tag[1] = max(st.tag[1], s.clock[1])
	}
	st.items.Push(item)
	st.bytes += int64(item.Size)
	st.InPackets++
	st.InBytes += int64(item.Size)
	s.total++
	return true
}

// Dequeue takes the packet that leaves now. Without one it returns the time to try
// again: Never if no packet waits.
func (s *Scheduler) Dequeue(now Time) (Item, bool, Time) {
	best, bestStage, bestTag, retry := -1, math.MaxInt, 0.0, Never
	for i := range s.Config.Queues {
		st := &s.queues[i]
		if st.items.Len() == 0 {
			continue
		}
		st.refill(now, s.Burst)
		if st.ceil > 0 && st.room <= 0 {
			retry = min(retry, now+1+Time(-st.room/st.ceil))
			continue
		}
		level := 0
		if st.credit <= 0 {
			level = 1
		}
		stage := level<<8 | st.priority
		if tag := st.tag[level]; stage < bestStage || stage == bestStage && tag < bestTag {
			best, bestStage, bestTag = i, stage, tag
		}
	}
	if best < 0 {
		return Item{}, false, retry
	}
	return s.serve(best, bestStage>>8), true, Never
}

func (s *Scheduler) serve(i, level int) Item {
	st := &s.queues[i]
	item := st.items.Pop()
	size := float64(item.Size)
	if level == 0 {
		st.credit -= size
	}
	st.room -= size
	s.clock[level] = st.tag[level]
	st.tag[level] += size / st.quantum
	st.bytes -= int64(item.Size)
	st.OutPackets++
	st.OutBytes += int64(item.Size)
	s.total--
	return item
}

// refill brings credit and room up to now.
func (st *state) refill(now Time, burst float64) {
	if now == st.seen {
		return
	}
	passed := float64(now - st.seen)
	st.seen = now
	st.credit = min(st.credit+passed*st.rate, burst)
	if st.ceil > 0 {
		st.room = min(st.room+passed*st.ceil, burst)
	}
}
