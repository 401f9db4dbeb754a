package circuits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
	"unicode/utf8"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/topo"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/ledger"
)

// maxMaintenance is how much of it may be planned at once: a link with all of it is still looked up at once.
const maxMaintenance = 1000

// maintenanceIsTheirs says of what who is no operator may not do: it takes capacity from all projects.
const maintenanceIsTheirs = "maintenance is theirs"

// errDryRun ends a decision that is not to be written.
var errDryRun = errors.New("a dry run")

// AddMaintenance implements CircuitsService.
func (a *api) AddMaintenance(ctx context.Context, r *connect.Request[circuitsv1.AddMaintenanceRequest]) (*connect.Response[circuitsv1.AddMaintenanceResponse], error) {
	out, err := a.c.addMaintenance(ctx, r.Msg)
	if err != nil {
		return nil, answer(err)
	}
	return connect.NewResponse(out), nil
}

func (c *Component) addMaintenance(ctx context.Context, ask *circuitsv1.AddMaintenanceRequest) (*circuitsv1.AddMaintenanceResponse, error) {
	if err := c.checkMaintenance(ask); err != nil {
		return nil, err
	}
	now := c.deps.Now()
	out, added := &circuitsv1.AddMaintenanceResponse{}, false
	is, err := c.ledger.Maintain(ctx, ask.GetId(), func(was *circuitsv1.Maintenance) (is *circuitsv1.Maintenance, err error) {
		added = false
		if is, err = c.book.planned(ask, was, now); err != nil {
			return nil, err
		}
		omitted := 0
		if out.Hits, omitted, err = c.book.wouldHit(is, now); err != nil {
			return nil, err
		}
		out.HitsOmitted = int32(omitted)
		switch {
		case ask.GetDryRun():
			out.Maintenance = is
			return nil, errDryRun
		case was != nil:
			return nil, nil
		}
		added = true
		return is, nil
	})
	switch {
	case errors.Is(err, errDryRun):
		return out, nil
	case err != nil:
		return nil, err
	}
	out.Maintenance = is
	if added {
		c.events.Publish(ctx, events.MaintenancePlanned, is.GetId(), fmt.Sprintf("Maintenance %s %s is planned by %s: %s. It hits %d circuits.",
			is.GetId(), spanText(maintenanceWindow(is)), is.GetBy(), is.GetReason(), len(out.GetHits())+int(out.GetHitsOmitted())))
	}
	return out, nil
}

// checkMaintenance refuses what means nothing in any network.
func (c *Component) checkMaintenance(ask *circuitsv1.AddMaintenanceRequest) error {
	if err := c.cfg.mayAll(ask.GetBy(), maintenanceIsTheirs); err != nil {
		return err
	}
	reason := utf8.RuneCountInString(ask.GetReason())
	switch {
	case checkName(ask.GetId()) != nil:
		return wrong("id", "%s", errName)
	case reason < 1 || reason > maxDescription:
		return wrong("reason", "say why, in 1 to %d characters", maxDescription)
	case len(ask.GetLinks())+len(ask.GetRouters()) == 0:
		return wrong("links", "name links or routers")
	case len(ask.GetLinks()) > maxList:
		return wrong("links", "%d are more than %d", len(ask.GetLinks()), maxList)
	case len(ask.GetRouters()) > maxList:
		return wrong("routers", "%d are more than %d", len(ask.GetRouters()), maxList)
	case ask.GetLeftBitsPerSecond() < 0 || ask.GetLeftBitsPerSecond() > calendar.MaxRate:
		return wrong("left_bits_per_second", "%d bit/s are not between 0 and %d", ask.GetLeftBitsPerSecond(), int64(calendar.MaxRate))
	case ask.GetLeftBitsPerSecond() > 0 && len(ask.GetRouters()) > 0:
		return wrong("left_bits_per_second", "a router that is out leaves nothing of its links; name the links")
	case ask.GetEnd() == nil:
		return wrong("end", "say when it is over; it is removed earlier where it is over earlier")
	}
	return nil
}

// planned is a maintenance as it is recorded: that of the first time where the same is requested again.
func (b *book) planned(ask *circuitsv1.AddMaintenanceRequest, was *circuitsv1.Maintenance, now time.Time) (*circuitsv1.Maintenance, error) {
	if err := b.known(); err != nil {
		return nil, err
	}
	w, err := windowOf(ask.GetStart(), ask.GetEnd(), now)
	if err != nil {
		return nil, err
	}
	is := &circuitsv1.Maintenance{
		Id: ask.GetId(), Start: moment(w.Start), End: moment(w.End), LeftBitsPerSecond: ask.GetLeftBitsPerSecond(),
		By: ask.GetBy(), Reason: ask.GetReason(), Created: timestamppb.New(now),
	}
	if is.Links, err = b.bothDirections(ask.GetLinks()); err != nil {
		return nil, err
	}
	for _, name := range ask.GetRouters() {
		n, err := b.topo.Resolve(name)
		if err != nil {
			return nil, wrong("routers", "%s", err)
		}
		is.Routers = append(is.Routers, n.ID.String())
	}
	slices.Sort(is.Routers)
	is.Routers = slices.Compact(is.Routers)
	switch {
	case was != nil && samePlan(was, is, ask.GetStart() == nil):
		return was, nil
	case was != nil:
		return nil, fmt.Errorf("maintenance %s: %w", is.GetId(), ledger.ErrOtherRequest)
	case w.Start < now.Add(-late).Unix():
		return nil, wrong("start", "it is past; leave it out for now")
	case w.Check() != nil:
		return nil, wrong("end", "%s", w.Check())
	case b.unfinished(now) >= maxMaintenance:
		return nil, refuse(codeQuota, "", "%d are planned, as many as there may be; remove some", maxMaintenance)
	}
	return is, nil
}

// samePlan reports whether a maintenance was requested before. One that begins now began then.
func samePlan(was, is *circuitsv1.Maintenance, fromNow bool) bool {
	was, is = proto.CloneOf(was), proto.CloneOf(is)
	is.Created = was.GetCreated()
	if fromNow {
		is.Start = was.GetStart()
	}
	return proto.Equal(was, is)
}

// unfinished is how much maintenance is planned or under way.
func (b *book) unfinished(now time.Time) (n int) {
	for _, m := range b.maintenance {
		if isOpen(m, now) {
			n++
		}
	}
	return n
}

// isOpen reports whether a maintenance takes anything from now on.
func isOpen(m *circuitsv1.Maintenance, now time.Time) bool {
	return m.GetRemoved() == nil && m.GetEnd().AsTime().After(now)
}

// bothDirections are links with the other direction of each. Where several links lead back, the addresses of both ends
// say which; where they do not, only what was named is meant.
func (b *book) bothDirections(ids []string) (out []string, err error) {
	for _, id := range ids {
		l := b.topo.Link(id)
		if l == nil {
			return nil, wrong("links", "there is no link %.100q", id)
		}
		out = append(out, id)
		var back []*topo.Link
		for _, r := range b.topo.Out(l.To) {
			if r.To == l.From && (!l.RemoteAddress.IsValid() || r.LocalAddress == l.RemoteAddress) {
				back = append(back, r)
			}
		}
		if len(back) == 1 {
			out = append(out, back[0].ID)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// wouldHit says which circuits a maintenance hits. The book has it only meanwhile, unless it has it anyway.
func (b *book) wouldHit(m *circuitsv1.Maintenance, now time.Time) (out []*circuitsv1.MaintenanceHit, omitted int, err error) {
	if _, has := b.maintenance[m.GetId()]; !has {
		b.maintenance[m.GetId()] = m
		defer func() {
			delete(b.maintenance, m.GetId())
			err = cmp.Or(err, b.setOutages())
		}()
		if err := b.setOutages(); err != nil {
			return nil, 0, err
		}
	}
	return b.fates(m.GetId(), now)
}

// ListMaintenance implements CircuitsService.
func (a *api) ListMaintenance(_ context.Context, r *connect.Request[circuitsv1.ListMaintenanceRequest]) (*connect.Response[circuitsv1.ListMaintenanceResponse], error) {
	out, now := &circuitsv1.ListMaintenanceResponse{}, a.c.deps.Now()
	err := a.c.ledger.LookMaintenance(func(all iter.Seq[*circuitsv1.Maintenance]) {
		for m := range all {
			if (r.Msg.GetId() == "" || r.Msg.GetId() == m.GetId()) && (r.Msg.GetAll() || r.Msg.GetId() != "" || isOpen(m, now)) {
				out.Maintenance = append(out.Maintenance, m)
			}
		}
	})
	if err != nil {
		return nil, answer(err)
	}
	slices.SortFunc(out.Maintenance, func(a, b *circuitsv1.Maintenance) int {
		return cmp.Or(a.GetStart().AsTime().Compare(b.GetStart().AsTime()), cmp.Compare(a.GetId(), b.GetId()))
	})
	if r.Msg.GetId() == "" {
		return connect.NewResponse(out), nil
	}
	if len(out.GetMaintenance()) == 0 {
		return nil, answer(fmt.Errorf("maintenance %.100q: %w", r.Msg.GetId(), ledger.ErrNoMaintenance))
	}
	looked := a.c.ledger.Look("", func(func(func(*circuitsv1.Record) bool)) {
		if err = a.c.book.known(); err == nil && isOpen(out.GetMaintenance()[0], now) {
			omitted := 0
			out.Hits, omitted, err = a.c.book.fates(r.Msg.GetId(), now)
			out.HitsOmitted = int32(omitted)
		}
	})
	if err := errors.Join(looked, err); err != nil {
		return nil, answer(err)
	}
	return connect.NewResponse(out), nil
}

// RemoveMaintenance implements CircuitsService. What was removed before is no error.
func (a *api) RemoveMaintenance(ctx context.Context, r *connect.Request[circuitsv1.RemoveMaintenanceRequest]) (*connect.Response[circuitsv1.RemoveMaintenanceResponse], error) {
	m, err := a.c.removeMaintenance(ctx, r.Msg)
	if err != nil {
		return nil, answer(err)
	}
	return connect.NewResponse(&circuitsv1.RemoveMaintenanceResponse{Maintenance: m}), nil
}

func (c *Component) removeMaintenance(ctx context.Context, ask *circuitsv1.RemoveMaintenanceRequest) (*circuitsv1.Maintenance, error) {
	now := c.deps.Now()
	if err := c.cfg.mayAll(ask.GetBy(), maintenanceIsTheirs); err != nil {
		return nil, err
	}
	if checkName(ask.GetId()) != nil {
		return nil, wrong("id", "%s", errName)
	}
	if utf8.RuneCountInString(ask.GetNote()) > maxDescription {
		return nil, wrong("note", "at most %d characters", maxDescription)
	}
	removed := false
	is, err := c.ledger.Maintain(ctx, ask.GetId(), func(was *circuitsv1.Maintenance) (*circuitsv1.Maintenance, error) {
		removed = false
		switch {
		case was == nil:
			return nil, fmt.Errorf("maintenance %q: %w", ask.GetId(), ledger.ErrNoMaintenance)
		case was.GetRemoved() != nil:
			return nil, nil
		case !isOpen(was, now):
			return nil, fmt.Errorf("maintenance %s: %w: it is over since %s", was.GetId(), errTransition, endText(was.GetEnd()))
		}
		is := proto.CloneOf(was)
		is.Removed, is.RemovedBy, is.RemovedNote = timestamppb.New(now), ask.GetBy(), ask.GetNote()
		removed = true
		return is, nil
	})
	if err == nil && removed {
		text := fmt.Sprintf("Maintenance %s %s is removed by %s", is.GetId(), spanText(maintenanceWindow(is)), is.GetRemovedBy())
		if is.GetRemovedNote() != "" {
			text += ": " + is.GetRemovedNote()
		}
		c.events.Publish(ctx, events.MaintenanceRemoved, is.GetId(), text+".")
	}
	return is, err
}
