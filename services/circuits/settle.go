package circuits

import (
	"slices"
	"time"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
)

// settled does in a record what life says of an update: routers have its rate, or they keep the one of before. What is
// booked from now on is that rate, no longer the higher of both.
func settled(is *circuitsv1.Record, actions []life.Action, now time.Time) *circuitsv1.Record {
	does := func(do life.Do) bool {
		return slices.ContainsFunc(actions, func(a life.Action) bool { return a.Do == do })
	}
	if len(is.GetLife().GetHadPath()) > 0 && (does(life.Settle) || does(life.Revert)) {
		if want := is.GetLife().GetHadWant(); want != nil && does(life.Revert) {
			copyPath(is.GetCircuit().GetTerms(), want)
		}
		if does(life.Revert) {
			is.Circuit.Path, is.Circuit.Backup, is.Circuit.Back = is.Life.HadPath, is.Life.HadBackup, is.Life.HadBack
		}
		is.Life.HadPath, is.Life.HadBackup, is.Life.HadBack, is.Life.HadWant = nil, nil, nil, nil
	}
	had := is.GetLife().GetHadBitsPerSecond()
	if had == 0 || !does(life.Settle) && !does(life.Revert) {
		return is
	}
	c := is.GetCircuit()
	if does(life.Revert) {
		c.Terms.RateBitsPerSecond = had
	}
	g := grantOf(is)
	if len(g.Slots) == 0 {
		return is // it was preempted as a whole
	}
	w := calendar.Window{Start: max(now.Unix(), g.Slots[0].Start), End: g.Slots[len(g.Slots)-1].End}
	if w.Start < w.End {
		g.Slots = admit.Resized(g.Slots, w, c.GetTerms().GetRateBitsPerSecond())
		c.Slots = slotsOf(&g)
	}
	is.Life.HadBitsPerSecond = 0
	return is
}

// noteOf says for the history what came of an update of the rate or the path, empty for nothing.
func noteOf(what string, actions []life.Action) string {
	for _, a := range actions {
		switch a.Do {
		case life.Settle:
			return "routers have the " + what
		case life.Revert:
			return "routers keep the " + what + " of before: " + a.Text
		}
	}
	return ""
}

// told is a record after life.Next, with what its actions say of an update.
func told(was *circuitsv1.Record, next life.Circuit, actions []life.Action, now time.Time) *circuitsv1.Record {
	what := "rate"
	if len(was.GetLife().GetHadPath()) > 0 {
		what = "path"
	}
	if note := noteOf(what, actions); note != "" && (what == "path" || was.GetLife().GetHadBitsPerSecond() != 0) {
		next.Moves = append(next.Moves, life.Move{From: next.State, To: next.State, By: life.Self, Note: note})
	}
	return settled(ledger.With(was, next, now), actions, now)
}
