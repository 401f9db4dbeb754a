package datapath

import (
	"fmt"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/millrace/millrace/internal/scratchns"
)

// TestClassesHaveTheirRates reads back from the kernel what our messages configured, changes included.
func TestClassesHaveTheirRates(t *testing.T) {
	rates := map[uint32]float64{0: 12_500, 1: 1.25e6, 2: 1.25e9, 3: 0, 70: 5e9} // the last takes 64 bits
	_, err := scratchns.Run(func(netns.NsHandle) (none struct{}, err error) {
		s, err := OpenScheduler(scratchns.Port, HTB, 128, 128)
		if err != nil {
			return none, err
		}
		defer s.Close()
		for range 40 { // more than fit into one system call
			for flow, r := range rates {
				s.SetRate(flow, r/2)
				s.SetRate(flow, r)
			}
		}
		if err := s.Flush(); err != nil {
			return none, err
		}
		l, err := netlink.LinkByName(scratchns.Port)
		if err != nil {
			return none, err
		}
		list, err := netlink.ClassList(l, 0)
		if err != nil {
			return none, err
		}
		got := map[uint32]*netlink.HtbClass{}
		for _, c := range list {
			_, minor := netlink.MajorMinor(c.Attrs().Handle)
			got[uint32(minor)] = c.(*netlink.HtbClass)
		}
		if len(got) != len(rates)+1 || got[classRest] == nil {
			return none, fmt.Errorf("classes %v", got)
		}
		for flow, r := range rates {
			if r == 0 {
				r = unlimited
			}
			c := got[classMinor+flow]
			if want := uint64(r * 1.002); c == nil || c.Rate != want || c.Ceil != want || c.Buffer == 0 {
				return none, fmt.Errorf("class of flow %d: %+v, want rate and ceil %d", flow, c, want)
			}
		}
		return none, CloseScheduler(scratchns.Port)
	})
	if err != nil {
		t.Error(err)
	}
}
