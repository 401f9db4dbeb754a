package kernel

import (
	"encoding/binary"
	"fmt"

	"github.com/vishvananda/netlink/nl"
)

// WRED drops packets at random by a drop profile for each loss priority, LossLow
// first. Packets of a loss priority without a profile are dropped only when the
// buffer is full.
type WRED [lossPriorities]*DropProfile

func (WRED) leaf() *leafKind { return &gredLeaf }

var gredLeaf = leafKind{
	name: FeatureWRED, handle: 0x80, sample: WRED{{Max: 100, Probability: 100}},
	since:   "4.2", // TCA_GRED_LIMIT
	options: func(q Queue) [][]byte { return gredOptions(q.Discipline.(WRED), q.Buffer) },
	want:    func(q Queue) string { return gredWant(q.Discipline.(WRED), q.Buffer) },
	got:     gredGot,
}

// Attributes of gred (linux/pkt_sched.h).
const (
	gredParms, gredStab, gredDPs, gredMaxP, gredLimitTag = 1, 2, 3, 4, 5
	gredQueueSize                                        = 52 // struct tc_gred_qopt
	// lossPriorities is how many virtual queues gred has for us; the
	// program of bpf/classifier.c puts the loss priority into tc_index.
	lossPriorities = 4
)

// gredOptions are the table and then each of its virtual queues.
func gredOptions(profiles WRED, buffer uint32) [][]byte {
	out := [][]byte{gredTable(buffer)}
	for dp, c := range profiles {
		out = append(out, gredQueue(dp, c, buffer))
	}
	return out
}

// gredTable encodes the table of gred: four virtual queues in one real queue.
// With grio and equal priorities ("WRED mode") every profile sees the occupancy of the whole queue.
func gredTable(buffer uint32) []byte {
	opt := make([]byte, 12) // struct tc_gred_sopt
	e := binary.NativeEndian
	e.PutUint32(opt[0:], lossPriorities)
	opt[8] = 1
	return attrs(attr{gredDPs, opt}, attr{gredLimitTag, e.AppendUint32(nil, buffer)})
}

// gredQueue encodes one virtual queue; without a profile it only drops what does not fit.
func gredQueue(dp int, c *DropProfile, buffer uint32) []byte {
	opt := make([]byte, gredQueueSize)
	e := binary.NativeEndian
	low, high, maxP := gredThresholds(c, buffer)
	e.PutUint32(opt[0:], buffer)
	e.PutUint32(opt[4:], low)
	e.PutUint32(opt[8:], high)
	e.PutUint32(opt[12:], uint32(dp))
	opt[43] = gredPriority
	return attrs(attr{gredParms, opt}, attr{gredStab, stab()}, attr{gredMaxP, e.AppendUint32(nil, maxP)})
}

const gredPriority = 8

func gredThresholds(c *DropProfile, buffer uint32) (low, high, maxP uint32) {
	if c == nil {
		never := min(buffer, maxProfileBuffer) * 2
		return never, never, 1
	}
	low, high = c.thresholds(buffer)
	return low, high, c.maxP()
}

// gredWant is what gredGot says of the table above.
func gredWant(profiles WRED, buffer uint32) string {
	out := fmt.Sprintf("limit %d grio 1", buffer)
	for dp, c := range profiles {
		low, high, maxP := gredThresholds(c, buffer)
		out += fmt.Sprintf("; %d: %d %d %d %d %d", dp, buffer, low, high, gredPriority, maxP)
	}
	return out
}

func gredGot(options []byte) string {
	list, err := nl.ParseRouteAttr(options)
	if err != nil {
		return err.Error()
	}
	e := binary.NativeEndian
	var limit uint32
	var grio byte
	var maxP, queues []byte
	for _, a := range list {
		switch v := a.Value; {
		case a.Attr.Type&nlaTypeMask == gredLimitTag && len(v) >= 4:
			limit = e.Uint32(v)
		case a.Attr.Type&nlaTypeMask == gredDPs && len(v) >= 9:
			grio = v[8]
		case a.Attr.Type&nlaTypeMask == gredMaxP:
			maxP = v
		case a.Attr.Type&nlaTypeMask == gredParms:
			queues = v
		}
	}
	out := fmt.Sprintf("limit %d grio %d", limit, grio)
	for dp := 0; dp < lossPriorities && len(queues) >= (dp+1)*gredQueueSize && len(maxP) >= 4*(dp+1); dp++ {
		q := queues[dp*gredQueueSize:]
		out += fmt.Sprintf("; %d: %d %d %d %d %d", e.Uint32(q[12:]), e.Uint32(q), e.Uint32(q[4:]), e.Uint32(q[8:]), q[43], e.Uint32(maxP[4*dp:]))
	}
	return out
}

const nlaTypeMask = 0x3fff
