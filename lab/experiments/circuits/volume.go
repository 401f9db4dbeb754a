package circuits

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/lab"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// The bookings, in seconds of the phase. The hosts' lines and the applications' times are made for them.
const (
	otherFrom, otherTo    = 20, 40
	otherRate             = 15_000_000
	volumeFrom, volumeEnd = 12, 51
	volumeBytes           = 71_875_000
	volumeRate            = 25_000_000
)

// volume runs the phase night, and books while its first traffic runs: then slots and applications have one clock.
func (r *run) volume(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.Say("phase night")
	started, booked := make(chan time.Time, 1), make(chan error, 1)
	go func() {
		err := r.bookVolume(ctx, started)
		if err != nil {
			cancel() // traffic without circuits shows nothing
		}
		booked <- err
	}()
	_, err := r.Phase(ctx, "night", lab.Observer{WholeSecond: true, Started: func(at time.Time) { started <- at }})
	if err != nil {
		cancel()
	}
	if failed := <-booked; failed != nil && !errors.Is(failed, context.Canceled) {
		return failed
	}
	return err
}

// bookVolume books the other circuit, then the volume.
func (r *run) bookVolume(ctx context.Context, started <-chan time.Time) error {
	var start time.Time
	select {
	case start = <-started:
	case <-ctx.Done():
		return ctx.Err()
	}
	at := func(second int64) *timestamppb.Timestamp {
		return timestamppb.New(start.Add(time.Duration(second) * time.Second))
	}
	pair := func(n int) *circuitsv1.PrefixPair {
		return &circuitsv1.PrefixPair{Source: fmt.Sprintf("10.1.%d.0/24", n), Destination: fmt.Sprintf("10.2.%d.0/24", n)}
	}
	other := &circuitsv1.Terms{
		Project: "physics", From: "A", To: "C", RateBitsPerSecond: otherRate, Start: at(otherFrom), End: at(otherTo), Pairs: []*circuitsv1.PrefixPair{pair(3)},
	}
	volume := &circuitsv1.Terms{
		Project: "physics", From: "A", To: "C", RateBitsPerSecond: volumeRate, VolumeBytes: volumeBytes, Start: at(volumeFrom), End: at(volumeEnd),
		Pairs: []*circuitsv1.PrefixPair{pair(1), pair(2)},
	}
	for i, t := range []*circuitsv1.Terms{other, volume} {
		one, err := r.ask(ctx, []string{"other", "volume"}[i], t)
		if err != nil {
			return err
		}
		r.booked = append(r.booked, one)
	}
	r.judgeSlots(start)
	return nil
}

// judgeSlots looks at what was granted.
func (r *run) judgeSlots(start time.Time) {
	other, volume := r.booked[0], r.booked[1]
	var bits, last int64
	sum := map[int64]int64{}
	for _, c := range r.booked {
		for _, s := range c.GetSlots() {
			for at := s.GetStart().GetSeconds(); at < s.GetEnd().GetSeconds(); at++ {
				sum[at] += s.GetRateBitsPerSecond()
			}
		}
	}
	for _, s := range volume.GetSlots() {
		bits += s.GetRateBitsPerSecond() * (s.GetEnd().GetSeconds() - s.GetStart().GetSeconds())
		last = s.GetEnd().GetSeconds()
		r.Say("  the volume has %d Mbit/s from second %.0f to %.0f", s.GetRateBitsPerSecond()/1_000_000, s.GetStart().AsTime().Sub(start).Seconds(), s.GetEnd().AsTime().Sub(start).Seconds())
	}
	var highest int64
	for _, rate := range sum {
		highest = max(highest, rate)
	}
	m := r.Result.Metrics
	m["external/volume/booked_bytes"] = volumeBytes
	m["external/volume/slots"] = float64(len(volume.GetSlots()))
	m["external/volume/slot_bytes"] = float64(bits / 8)
	m["external/volume/highest_sum_mbps"] = float64(highest) / 1e6
	m["external/volume/ends_before_deadline_s"] = float64(volume.GetTerms().GetEnd().GetSeconds() - last)
	r.Say("  the other circuit is %s, the volume %s", other.GetId(), volume.GetId())
}

// awaitVolume waits until routers are rid of both.
func (r *run) awaitVolume(ctx context.Context) error {
	released := 0
	for _, c := range r.booked {
		r.circuit = c
		if err := r.awaitState(ctx, circuitsv1.State_STATE_RELEASED); err != nil {
			return err
		}
		released++
		r.Say("  %s: ready %.1f s after its start", c.GetId(), r.circuit.GetReady().AsTime().Sub(r.circuit.GetSlots()[0].GetStart().AsTime()).Seconds())
	}
	r.Result.Metrics["external/volume/released"] = float64(released)
	return nil
}
