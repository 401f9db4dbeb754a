package kernel

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vishvananda/netlink/nl"
)

// DropProfile is the probability of a drop by the fill of the queue's buffer: none
// below Min, rising in a line to Probability at Max, certain above; all percent.
type DropProfile struct {
	Min, Max, Probability uint8
	// ECN marks packets that can be marked instead.
	ECN bool
}

// Attributes of red and gred (linux/pkt_sched.h).
const (
	redParms, redStab, redMaxP                           = 1, 2, 3
	gredParms, gredStab, gredDPs, gredMaxP, gredLimitTag = 1, 2, 3, 4, 5
	redECN                                               = 1
	// lossPriorities is how many virtual queues gred has for us; the program of bpf/classifier.c puts the loss priority into tc_index.
	lossPriorities = 4
	maxGredDPs     = 16
	gredQueueSize  = 52 // struct tc_gred_qopt
	redSize        = 16 // struct tc_red_qopt
	// notARate keeps the kernel's own arithmetic within 32 bits.
	maxProfileBuffer = 1 << 30
)

// thresholds are the fills in bytes.
func (c DropProfile) thresholds(buffer uint32) (low, high uint32) {
	b := uint64(min(buffer, maxProfileBuffer))
	low, high = uint32(b*uint64(c.Min)/100), uint32(b*uint64(c.Max)/100)
	return low, max(high, low, 1)
}

// maxP is the probability at the upper threshold in units of 2^-32.
//
// The kernel spaces drops evenly: with probability p it drops after a number
// of packets drawn from 1..1/p, which is (1+1/p)/2 in the mean, so it drops
// 2p/(1+p) of them. p is chosen so that the profile is met exactly at three
// quarters of the way from Min to Max; the error is largest for a profile up to
// 100 %, +8.7 points at 30-40 % of the way and -11 just below Max, and below one point
// for profiles up to 30 %. docs/reference/routeragent.md shows it measured.
func (c DropProfile) maxP() uint32 {
	want := float64(c.Probability) / 100
	return uint32(math.Min(want/(2-0.75*want)*(1<<32), math.MaxUint32))
}

// stab makes an idle queue empty at once: the kernel remembers an average over
// idle times, which we do not want for the same reason as in redOptions.
func stab() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = 31
	}
	return b
}

// redOptions encodes TCA_OPTIONS of red. The weight of the moving average is 1
// (Wlog 0): the average is the queue itself, as in paper 002 experiment 4, where
// the probability of a drop is the fill. A slower average would let a burst
// through and punish who comes after it.
func redOptions(c DropProfile, buffer uint32) []byte {
	opt := make([]byte, redSize)
	e := binary.NativeEndian
	low, high := c.thresholds(buffer)
	e.PutUint32(opt[0:], buffer)
	e.PutUint32(opt[4:], low)
	e.PutUint32(opt[8:], high)
	if c.ECN {
		opt[15] = redECN
	}
	return attrs(attr{redParms, opt}, attr{redStab, stab()}, attr{redMaxP, e.AppendUint32(nil, c.maxP())})
}

// redCanonical is what of red's options is ours, for comparison.
func redCanonical(options []byte) string {
	list, err := nl.ParseRouteAttr(options)
	if err != nil {
		return err.Error()
	}
	var parms, maxP []byte
	for _, a := range list {
		switch a.Attr.Type {
		case redParms:
			parms = a.Value
		case redMaxP:
			maxP = a.Value
		}
	}
	return fmt.Sprintf("%x %x", parms, maxP)
}

// gredTable encodes the table of gred: four virtual queues in one real queue.
// With grio and equal priorities ("WRED mode") every profile sees the fill of the whole queue.
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
	low, high, maxP := gredNumbers(c, buffer)
	e.PutUint32(opt[0:], buffer)
	e.PutUint32(opt[4:], low)
	e.PutUint32(opt[8:], high)
	e.PutUint32(opt[12:], uint32(dp))
	opt[43] = gredPriority
	return attrs(attr{gredParms, opt}, attr{gredStab, stab()}, attr{gredMaxP, e.AppendUint32(nil, maxP)})
}

const gredPriority = 8

func gredNumbers(c *DropProfile, buffer uint32) (low, high, maxP uint32) {
	if c == nil {
		never := min(buffer, maxProfileBuffer) * 2
		return never, never, 1
	}
	low, high = c.thresholds(buffer)
	return low, high, c.maxP()
}

// gredWant is gredCanonical of what the tables above say.
func gredWant(profiles [lossPriorities]*DropProfile, buffer uint32) string {
	out := fmt.Sprintf("limit %d grio 1", buffer)
	for dp, c := range profiles {
		low, high, maxP := gredNumbers(c, buffer)
		out += fmt.Sprintf("; %d: %d %d %d %d %d", dp, buffer, low, high, gredPriority, maxP)
	}
	return out
}

func gredCanonical(options []byte) string {
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
