package circuits

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/lab"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// The circuits between ports: both have VLAN 100 at A, at a port each.
const (
	frameRate   = 10_000_000
	frameLength = 30 * time.Second
	pings       = 40
)

// sites are the hosts of each circuit, with their VLANs.
var sites = []struct {
	from, to         string
	fromPort, toPort string
	fromVLAN, toVLAN string
	answers          string
}{
	{from: "S1", to: "T1", fromPort: "ge-s1", toPort: "ge-t1", fromVLAN: "100", toVLAN: "300", answers: "one_answers"},
	{from: "S2", to: "T2", fromPort: "ge-s2", toPort: "ge-t2", fromVLAN: "100", toVLAN: "100", answers: "two_answers"},
}

// bookPorts books both circuits in one transaction.
func (r *run) bookPorts(ctx context.Context) error {
	start := time.Now().Add(soon).Truncate(time.Second)
	ask := &circuitsv1.RequestAllRequest{By: "ann", Commit: true}
	for _, s := range sites {
		ask.Terms = append(ask.Terms, &circuitsv1.Terms{
			Project: "physics", From: "A", To: "C", RateBitsPerSecond: frameRate,
			Start: timestamppb.New(start), End: timestamppb.New(start.Add(frameLength)),
			FromPort: &circuitsv1.Port{Name: s.fromPort, Vlans: s.fromVLAN}, ToPort: &circuitsv1.Port{Name: s.toPort, Vlans: s.toVLAN},
		})
	}
	r.Say("ask for two circuits of VLAN 100, from %s", start.Format(time.TimeOnly))
	booked := &circuitsv1.RequestAllResponse{}
	status, raw, err := r.rest(ctx, http.MethodPost, "/v1/batches", "ports", ask, booked)
	if err == nil && status != http.StatusCreated {
		err = fmt.Errorf("it is answered with %d: %s", status, raw)
	}
	if err != nil {
		return err
	}
	r.booked = booked.GetCircuits()
	return nil
}

// refuseVLAN requests a VLAN that is taken, and for what is offered instead.
func (r *run) refuseVLAN(ctx context.Context) error {
	t := proto.CloneOf(r.booked[0].GetTerms())
	t.RateBitsPerSecond = 1_000_000
	code, no, err := r.refused(ctx, "third", t)
	if err != nil {
		return err
	}
	blocked := slices.ContainsFunc(no.GetBlockers(), func(b *circuitsv1.Blocker) bool { return b.GetCircuit() == r.booked[0].GetId() })
	m := r.Result.Metrics
	m["external/refusal/vlan_in_use"] = one(code == "VLAN_IN_USE" && blocked)
	m["external/refusal/other_vlan"] = 0
	for _, o := range no.GetOffers() {
		quote := &circuitsv1.QuoteResponse{}
		if _, _, err := r.rest(ctx, http.MethodPost, "/v1/quotes", "", &circuitsv1.QuoteRequest{Terms: o.GetTerms(), By: "ann"}, quote); err != nil {
			return err
		}
		if o.GetKind() == "OTHER_VLAN" && quote.GetRefusal() == nil && len(quote.GetPath()) > 0 {
			m["external/refusal/other_vlan"] = 1
		}
	}
	return nil
}

// ofBoth does something for each circuit.
func (r *run) ofBoth(do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, c := range r.booked {
			r.circuit = c
			if err := do(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// awaitBoth waits until routers are rid of both circuits, which end together.
func (r *run) awaitBoth(ctx context.Context) error {
	if err := r.awaitReleased(ctx); err != nil { // the last one's
		return err
	}
	return r.ofBoth(func(ctx context.Context) error { return r.awaitState(ctx, circuitsv1.State_STATE_RELEASED) })(ctx)
}

// joinVLANs gives hosts their VLANs, and VLAN 200 to those of the first circuit.
func (r *run) joinVLANs(ctx context.Context) error {
	const vlan = `ip link add link eth0 name v%[1]s mtu 9000 type vlan id %[1]s && ip addr add %[2]s dev v%[1]s && ip link set v%[1]s up`
	for i, s := range sites {
		for _, end := range [][3]string{{s.from, s.fromVLAN, "192.168.7.1/24"}, {s.to, s.toVLAN, "192.168.7.2/24"}} {
			script := fmt.Sprintf(vlan, end[1], end[2])
			if i == 0 {
				script += " && " + fmt.Sprintf(vlan, "200", strings.Replace(end[2], ".7.", ".8.", 1))
			}
			if out, err := r.Lab.Capture(ctx, end[0], "sh", "-c", script); err != nil {
				return fmt.Errorf("VLAN %s of %s: %w: %s", end[1], end[0], err, out)
			}
		}
	}
	return nil
}

// frames runs the flood and, beside it, pings in both circuits.
func (r *run) frames(ctx context.Context) error {
	if err := r.joinVLANs(ctx); err != nil {
		return err
	}
	r.Say("phase frames")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	started, pinged := make(chan struct{}), make(chan error, 1)
	go func() { pinged <- r.pingBoth(ctx, started) }()
	_, err := r.Phase(ctx, "frames", lab.Observer{Started: func(time.Time) { close(started) }})
	if err != nil {
		cancel()
	}
	return errors.Join(err, <-pinged, r.whoAnswered(ctx))
}

// pingBoth sends frames of 9,000 bytes in both circuits at once, while the flood runs.
func (r *run) pingBoth(ctx context.Context, started <-chan struct{}) error {
	select {
	case <-started:
	case <-ctx.Done():
		return nil
	}
	if err := waitUntil(ctx, time.Now().Add(2*time.Second)); err != nil {
		return nil // the phase tells why
	}
	var wait sync.WaitGroup
	rtts, failures := make([][]float64, len(sites)), make([]error, len(sites))
	for i, s := range sites {
		wait.Go(func() { rtts[i], failures[i] = r.ping(ctx, s.from, "v"+s.fromVLAN, "192.168.7.2", pings, 8972) })
	}
	wait.Wait()
	var all []float64
	for i, s := range sites {
		r.Result.Metrics["external/frames/"+s.answers] = float64(len(rtts[i]))
		all = append(all, rtts[i]...)
	}
	slices.Sort(all)
	if len(all) > 0 {
		r.Result.Metrics["external/frames/rtt_p50_ms"] = all[len(all)/2]
	}
	r.Say("  %d and %d of %d pings are answered", len(rtts[0]), len(rtts[1]), pings)
	return errors.Join(failures...)
}

// ping returns the round-trip times of the answers, ms.
func (r *run) ping(ctx context.Context, host, device, to string, n, data int) (rtts []float64, err error) {
	script := fmt.Sprintf("ping -n -I %s -M do -s %d -c %d -i 0.1 -W 2 %s || true", device, data, n, to)
	out, err := r.Lab.Capture(ctx, host, "sh", "-c", script)
	if err != nil {
		return nil, fmt.Errorf("ping from %s: %w: %s", host, err, out)
	}
	for _, f := range strings.Fields(out) {
		if text, found := strings.CutPrefix(f, "time="); found {
			ms, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, fmt.Errorf("read %q: %w", f, err)
			}
			rtts = append(rtts, ms)
		}
	}
	return rtts, nil
}

// whoAnswered compares the MAC addresses that hosts know with those of the far ends, and tries a VLAN without a
// circuit.
func (r *run) whoAnswered(ctx context.Context) error {
	apart := true
	for _, s := range sites {
		knows, err := r.Lab.Capture(ctx, s.from, "sh", "-c", "ip neigh show 192.168.7.2 dev v"+s.fromVLAN)
		if err != nil {
			return fmt.Errorf("neighbours of %s: %w", s.from, err)
		}
		is, err := r.Lab.Capture(ctx, s.to, "sh", "-c", "ip -o link show v"+s.toVLAN+" | sed 's/.*ether \\([^ ]*\\).*/\\1/'")
		if err != nil {
			return fmt.Errorf("address of %s: %w", s.to, err)
		}
		apart = apart && strings.Contains(knows, strings.TrimSpace(is))
	}
	r.Result.Metrics["external/frames/apart"] = one(apart)
	answers, err := r.ping(ctx, "S1", "v200", "192.168.8.2", 3, 56)
	r.Result.Metrics["external/frames/other_vlan_answers"] = float64(len(answers))
	return err
}
