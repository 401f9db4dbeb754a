package main

import (
	"testing"
	"time"
)

// onBed runs a test of the bench's parts.
func onBed(t *testing.T, work func(*bed) error) {
	t.Helper()
	if err := inBed(work); err != nil {
		t.Fatal(err)
	}
}

func TestNoPacketOfAFlowIsLostOrMisclassifiedWhileTheRulesAreSwapped(t *testing.T) {
	onBed(t, func(b *bed) error {
		f, err := newFlow(b)
		if err != nil {
			return err
		}
		if err := f.converge(f.spec(flowRules(1))); err != nil {
			return err
		}
		o, err := f.during(func() error { return f.swaps(swapsPerRun) })
		if err != nil {
			return err
		}
		if o.Sent < 1000 || o.Received != o.Sent || o.Queued != o.Sent || o.Matched != o.Sent {
			t.Errorf("%+v, want all to be received, queued and matched, and more than 1000", o)
		}
		// The count can tell: a set without the pair, between two that have it, is seen.
		o, err = f.during(func() error {
			if err := f.converge(f.spec(flowRules(0)[:flowRule])); err != nil {
				return err
			}
			sent := f.sent.Load()
			for range 1000 {
				if f.sent.Load() > sent+200 {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			return f.swaps(1)
		})
		if o.Received != o.Sent || o.Queued > o.Sent-100 || o.Matched > o.Sent-100 {
			t.Errorf("%+v although the pair was gone for 100 packets and more", o)
		}
		return err
	})
}
