package flow

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/internal/scitags"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// FireflyConfiguration is where hosts tell whose their transfers are and what for (SciTags Technical Specification).
type FireflyConfiguration struct {
	// Listen are UDP addresses, host:port, for fireflies; hosts send them to port 10514. Default none.
	Listen []string `yaml:"listen"`
	// Sources are the networks of hosts whose fireflies are taken. Nothing in a firefly proves who sent it.
	Sources []string `yaml:"sources"`
}

// fireflyBuffer is the kernel's buffer of a socket: thousands of fireflies, of some 500 octets each.
const fireflyBuffer = 4 << 20

// maxFireflyAge is how long ago a transfer may have begun, and fireflyAhead how far a host's clock may be ahead.
const (
	maxFireflyAge = 7 * 24 * time.Hour
	fireflyAhead  = time.Hour
)

// Reasons for which a firefly is not taken.
const (
	reasonUnlisted decode.Reason = "unlisted"
	reasonNotOne   decode.Reason = "malformed"
	reasonFlow     decode.Reason = "not_a_flow"
	reasonTag      decode.Reason = "no_tag"
	reasonTime     decode.Reason = "time_out_of_range"
	reasonNoStart  decode.Reason = "no_start"
)

// Validate rejects invalid sources; its error names a valid one. Addresses are checked with those for flows.
func (f FireflyConfiguration) Validate() error {
	if _, err := f.sources(); err != nil {
		return err
	}
	if len(f.Listen) > 0 && len(f.Sources) == 0 {
		return errors.New("fireflies: sources has no network; want those of the hosts that send fireflies, such as 192.0.2.0/24")
	}
	return nil
}

func (f FireflyConfiguration) sources() (all []netip.Prefix, err error) {
	for _, s := range f.Sources {
		p, err := netip.ParsePrefix(s)
		if err != nil || p != p.Masked() {
			return nil, fmt.Errorf("fireflies: source %q: want a network, such as 192.0.2.0/24 or 2001:db8::/48", s)
		}
		all = append(all, p)
	}
	return all, nil
}

// fireflies takes them from its sockets.
type fireflies struct {
	c       *Component
	sources []netip.Prefix
	sockets []*socket
}

func newFireflies(c *Component, cfg FireflyConfiguration) (*fireflies, error) {
	sources, err := cfg.sources()
	if err != nil {
		return nil, err
	}
	return &fireflies{c: c, sources: sources}, nil
}

func (f *fireflies) listen(ctx context.Context) error {
	for _, address := range f.c.cfg.Fireflies.Listen {
		s, err := listen(ctx, address, fireflyBuffer, func(int) error { return nil })
		if err != nil {
			return fmt.Errorf("fireflies: %w", err)
		}
		f.sockets = append(f.sockets, s)
		f.c.deps.Log.Info("listening for fireflies", "address", s.address().String())
	}
	return nil
}

// receive runs until the socket is closed.
func (f *fireflies) receive(s *socket) {
	for {
		in, dropped, err := s.read()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			f.c.deps.Log.Warn("receive fireflies", "address", s.address().String(), "error", err)
			time.Sleep(retryPause)
			continue
		}
		f.c.metrics.fireflyDrops.WithLabelValues("socket").Add(float64(dropped))
		tags := map[netip.Addr][]*flowv1.FlowTag{}
		for _, d := range in {
			from := d.From.Addr()
			if tag, reason := f.take(from, d.Payload, d.At); reason != "" {
				f.c.metrics.fireflyDrops.WithLabelValues(string(reason)).Inc()
			} else {
				tags[from] = append(tags[from], tag)
			}
		}
		f.c.batcher.addTags(tags)
	}
}

// take reads a firefly, or says why not.
func (f *fireflies) take(from netip.Addr, datagram []byte, now time.Time) (*flowv1.FlowTag, decode.Reason) {
	if !slices.ContainsFunc(f.sources, func(p netip.Prefix) bool { return p.Contains(from) }) {
		return nil, reasonUnlisted
	}
	fly, err := scitags.ParseFirefly(datagram)
	switch {
	case errors.Is(err, scitags.ErrFlow):
		return nil, reasonFlow
	case errors.Is(err, scitags.ErrTag):
		return nil, reasonTag
	case errors.Is(err, scitags.ErrStart):
		return nil, reasonNoStart
	case errors.Is(err, scitags.ErrTime):
		return nil, reasonTime
	case err != nil:
		return nil, reasonNotOne
	}
	if fly.Start.Before(now.Add(-maxFireflyAge)) || fly.Until.After(now.Add(fireflyAhead)) {
		return nil, reasonTime
	}
	return &flowv1.FlowTag{
		SrcAddr: fly.Src.Addr().AsSlice(), DstAddr: fly.Dst.Addr().AsSlice(), SrcPort: uint32(fly.Src.Port()), DstPort: uint32(fly.Dst.Port()),
		Protocol: uint32(fly.Protocol), Start: timestamppb.New(fly.Start), Until: timestamppb.New(fly.Until), Ended: fly.Ended,
		Community: uint32(fly.Tag.Community), Activity: uint32(fly.Tag.Activity), Application: fly.Application, Reporter: from.AsSlice(),
	}, ""
}

// addTags takes what hosts said; it waits while the bus is behind.
func (b *batcher) addTags(tags map[netip.Addr][]*flowv1.FlowTag) {
	n := 0
	for _, of := range tags {
		n += outgoing{tags: of}.weight()
	}
	full := b.admit(n)
	for from, of := range tags {
		b.enqueue(&outgoing{exporter: from, tags: of})
	}
	if full {
		b.flush(nil)
	}
}
