package storm

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// write is one change of a record in etcd; is nil where it was deleted.
type write struct {
	id string
	is *circuitsv1.Record
}

// oracle adds up, for each second of each link, what all records together have. It knows nothing of calendars.
type oracle struct {
	first   int64
	most    map[string]int64
	booked  map[string][]int64
	records map[string]*circuitsv1.Record
	// over counts seconds of links of which more was booked than circuits may use, each time a record was written;
	// outside counts slots that are not within the time that is looked at.
	over, outside int
}

func newOracle(first int64, most map[string]int64) *oracle {
	o := &oracle{first: first, most: most, booked: map[string][]int64{}, records: map[string]*circuitsv1.Record{}}
	for link := range most {
		o.booked[link] = make([]int64, horizon)
	}
	return o
}

// take looks at one write.
func (o *oracle) take(w write) {
	o.add(o.records[w.id], -1)
	o.records[w.id] = w.is
	o.add(w.is, 1)
}

// over: these states have no capacity (docs/reference/circuits.md).
var over = map[circuitsv1.State]bool{
	circuitsv1.State_STATE_RELEASED: true, circuitsv1.State_STATE_EXPIRED: true, circuitsv1.State_STATE_CANCELLED: true,
	circuitsv1.State_STATE_LAPSED: true, circuitsv1.State_STATE_FAILED: true,
}

func (o *oracle) add(r *circuitsv1.Record, sign int64) {
	c := r.GetCircuit()
	if r == nil || over[c.GetState()] {
		return
	}
	for _, hops := range [][]*circuitsv1.Hop{c.GetPath(), c.GetBackup()} {
		for _, h := range hops {
			for _, s := range c.GetSlots() {
				o.slot(h.GetLink(), s, sign)
			}
		}
	}
}

func (o *oracle) slot(link string, s *circuitsv1.Slot, sign int64) {
	from, to := o.second(s.GetStart()), o.second(s.GetEnd())
	if o.booked[link] == nil || from < 0 || to > horizon || s.GetEnd() == nil {
		o.outside++
		return
	}
	for at := from; at < to; at++ {
		o.booked[link][at] += sign * s.GetRateBitsPerSecond()
		if sign > 0 && o.booked[link][at] > o.most[link] {
			o.over++
		}
	}
}

func (o *oracle) second(t *timestamppb.Timestamp) int64 { return t.GetSeconds() - o.first }
