package circuits

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// usagePatience is for the counters' way to the store: read every 2 s, and written soon after.
const usagePatience = 10 * time.Second

// octetsAndFrames are what one end of a circuit sent.
type octetsAndFrames struct{ octets, frames float64 }

// hostSent is what a host sent in a VLAN. The kernel counts as the router does: without tag and frame check sequence.
func (r *run) hostSent(ctx context.Context, host, vlan string) (octetsAndFrames, error) {
	out, err := r.Lab.Capture(ctx, host, "ip", "-s", "-j", "link", "show", "v"+vlan)
	var links []struct {
		Stats struct {
			TX struct{ Bytes, Packets float64 }
		} `json:"stats64"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(out), &links)
	}
	if err != nil || len(links) != 1 {
		return octetsAndFrames{}, fmt.Errorf("what %s sent in VLAN %s: %w: %s", host, vlan, err, out)
	}
	return octetsAndFrames{links[0].Stats.TX.Bytes, links[0].Stats.TX.Packets}, nil
}

// allSent is what hosts sent into each circuit, forth and back.
func (r *run) allSent(ctx context.Context) (out []octetsAndFrames, err error) {
	for _, s := range sites {
		for _, end := range [][2]string{{s.from, s.fromVLAN}, {s.to, s.toVLAN}} {
			sent, err := r.hostSent(ctx, end[0], end[1])
			if err != nil {
				return nil, err
			}
			out = append(out, sent)
		}
	}
	return out, nil
}

// allUsed is what the API says of each circuit, forth and back.
func (r *run) allUsed(ctx context.Context) (out []octetsAndFrames, err error) {
	for _, c := range r.booked {
		u := &circuitsv1.UsageResponse{}
		status, raw, err := r.rest(ctx, http.MethodGet, "/v1/circuits/"+c.GetId()+"/usage", "", nil, u)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("its usage is answered with %d: %s", status, raw)
		}
		if err != nil {
			return nil, err
		}
		t := u.GetTotal()
		out = append(out, octetsAndFrames{float64(t.GetInProfileOctets()), float64(t.GetInProfilePackets())},
			octetsAndFrames{float64(t.GetReturnOctets()), float64(t.GetReturnPackets())})
	}
	return out, nil
}

// shares are the least share of what was sent that is said to have entered, of octets and of frames, and the largest
// one of octets.
func shares(used, sent []octetsAndFrames) (least, most float64) {
	for i, u := range used {
		octets, frames := u.octets/sent[i].octets, u.frames/sent[i].frames
		if i == 0 {
			least, most = octets, octets
		}
		least, most = min(least, octets, frames), max(most, octets)
	}
	return least, most
}

// usage compares what the circuits' usage says with what hosts sent, until all of that is in it.
func (r *run) usage(ctx context.Context) error {
	sent, err := r.allSent(ctx)
	if err != nil {
		return err
	}
	m := r.Result.Metrics
	for patience := time.Now().Add(usagePatience); ; {
		used, err := r.allUsed(ctx)
		if err != nil {
			return err
		}
		least, most := shares(used, sent)
		m["external/frames/usage_least"], m["external/frames/usage_most"] = least, most
		if least >= 1 || time.Now().After(patience) {
			r.Say("  usage says octets and frames %v of %v that hosts sent", used, sent)
			return nil
		}
		if err := waitUntil(ctx, time.Now().Add(500*time.Millisecond)); err != nil {
			return err
		}
	}
}
