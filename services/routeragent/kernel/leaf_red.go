package kernel

import (
	"encoding/binary"
	"fmt"

	"github.com/vishvananda/netlink/nl"
)

// RED drops packets at random by one drop profile for all of them (RFC 7567).
type RED DropProfile

func (RED) leaf() *leafKind { return &redLeaf }

var redLeaf = leafKind{
	name: FeatureRED, handle: 0x40, sample: RED{Max: 100, Probability: 100},
	since:   "3.3", // TCA_RED_MAX_P
	options: func(q Queue) [][]byte { return [][]byte{redOptions(q.Discipline.(RED), q.Buffer)} },
	want:    func(q Queue) string { return redText(redOptions(q.Discipline.(RED), q.Buffer)) },
	got:     redText,
}

// Attributes of red (linux/pkt_sched.h).
const (
	redParms, redStab, redMaxP = 1, 2, 3
	redECN                     = 1
	redSize                    = 16 // struct tc_red_qopt
)

// redOptions encodes TCA_OPTIONS of red. The weight of the moving average is 1
// (Wlog 0): the average is the queue itself, as in paper 002 experiment 4, where
// the probability of a drop is the fill. A slower average would let a burst
// through and punish who comes after it.
func redOptions(c RED, buffer uint32) []byte {
	opt := make([]byte, redSize)
	e := binary.NativeEndian
	low, high := DropProfile(c).thresholds(buffer)
	e.PutUint32(opt[0:], buffer)
	e.PutUint32(opt[4:], low)
	e.PutUint32(opt[8:], high)
	if c.ECN {
		opt[15] = redECN
	}
	return attrs(attr{redParms, opt}, attr{redStab, stab()}, attr{redMaxP, e.AppendUint32(nil, DropProfile(c).maxP())})
}

// redText is the part of red's options that is ours.
func redText(options []byte) string {
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
