package alpha

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/lifecycle"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	"github.com/millrace/millrace/services/alpha/detect"
)

const (
	// lookEvery is how often pairs are looked for that need a change set.
	lookEvery = time.Second
	// withheldAfter is how often a pair is not proposed before that is said: the hours by which an exporter is judged
	// are stored a little later than its records come.
	withheldAfter = 15
	// automatic is the author of change sets that no person requested.
	automatic = "alpha online"
)

// proposeAll requests change sets for pairs that are certainly alpha, at most one per interval.
func (c *Component) proposeAll(ctx context.Context) {
	for ctx.Err() == nil {
		pause := lookEvery
		made, err := c.propose(ctx)
		if err != nil && ctx.Err() == nil {
			c.deps.Log.WarnContext(ctx, "no change set for pairs that are alpha now, tried again", "error", err)
		}
		if made {
			pause = c.cfg.Rule.Interval
		}
		lifecycle.Pause(ctx, pause)
	}
}

// propose requests one change set for all pairs that need one, and reports whether it did.
func (c *Component) propose(ctx context.Context) (made bool, err error) {
	all, err := c.alphaNow(ctx)
	if err != nil {
		return false, err
	}
	now := c.deps.Now()
	var wanted []*alphav1.AlphaNow
	look := false
	for _, m := range all {
		if m.GetState() != alphav1.NowState_NOW_STATE_UNIDENTIFIED || !m.GetCertain() {
			continue
		}
		if mine, due := c.watch.mine(m, now); mine {
			wanted, look = append(wanted, m), look || due
		}
	}
	if !look {
		return false, nil
	}
	reasons, err := c.withhold(ctx, wanted)
	if err != nil {
		return false, err
	}
	var trusted []*alphav1.AlphaNow
	for _, m := range wanted {
		reason := reasons[m.GetPair().GetExporter()]
		if reason == "" {
			trusted = append(trusted, m)
		} else if c.watch.withhold(m, now.Add(c.cfg.Rule.Interval)) == withheldAfter {
			c.events.Publish(ctx, events.RedirectWithheld, m.GetPair().GetId(), fmt.Sprintf("No change set is requested for %s to %s: %s.",
				m.GetPair().GetSrc(), m.GetPair().GetDst(), reason))
		}
	}
	if len(trusted) == 0 {
		return false, nil
	}
	_, err = c.redirect(ctx, trusted, automatic, "")
	var asking *undeliveredError
	if err == nil || errors.As(err, &asking) { // which is requested again by itself
		c.watch.request(trusted)
	}
	return true, err
}

// withhold has, by exporter, why no change set is to be requested for its pairs.
func (c *Component) withhold(ctx context.Context, wanted []*alphav1.AlphaNow) (map[string]string, error) {
	out := map[string]string{}
	untrusted, err := c.untrusted(ctx, wanted)
	if err != nil {
		return nil, err
	}
	for exporter, reason := range untrusted {
		out[exporter.String()] = reason
	}
	for _, m := range wanted {
		if m.GetRouter() == "" {
			out[m.GetPair().GetExporter()] = "its exporter " + m.GetPair().GetExporter() + " belongs to no device of the inventory"
		}
	}
	return out, nil
}

// keyOfPair is the zero Key for one that cannot be read.
func keyOfPair(m *alphav1.AlphaNow) detect.Key {
	p, err := pairFromProto(m.GetPair())
	if err != nil {
		return detect.Key{}
	}
	return p.Key
}

// mine reports whether this replica sums the pair's flows, and has requested nothing for it; and whether it is to look
// at it now. One look is for all pairs that are mine, whenever each began.
func (w *watch) mine(m *alphav1.AlphaNow, now time.Time) (mine, look bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.going[keyOfPair(m)]
	mine = g != nil && !g.requested
	return mine, mine && !now.Before(g.lookAgain)
}

func (w *watch) request(all []*alphav1.AlphaNow) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range all {
		if g := w.going[keyOfPair(m)]; g != nil {
			g.requested = true
		}
	}
}

// withhold counts how often no change set was requested for the pair. Once that is said, no look is for it alone before
// then: for each look the flow store reads a week of hours of all exporters.
func (w *watch) withhold(m *alphav1.AlphaNow, again time.Time) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.going[keyOfPair(m)]
	if g == nil {
		return 0
	}
	g.withheld++
	if g.withheld >= withheldAfter {
		g.lookAgain = again
	}
	return g.withheld
}
