package circuits

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/restore"
	"github.com/millrace/millrace/services/circuits/traffic"
)

// The bounds of lists and texts.
const (
	maxList        = 100
	maxName        = 100
	maxDescription = 500
)

// late is how far in the past a start may be: the request has been on its way.
const late = time.Minute

var nameShape = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

var errName = errors.New("1 to 64 letters, digits, '.', '_' or '-'")

// checkName is for what becomes part of a key.
func checkName(s string) error {
	if !nameShape.MatchString(s) {
		return errName
	}
	return nil
}

// refused is a refusal as an error.
type refused struct{ *circuitsv1.Refusal }

func (r refused) Error() string { return r.GetCode() + ": " + r.GetReason() }

// Codes of refusals beside those of admit.
const (
	codeQuota  = "QUOTA"
	codePolicy = "POLICY"
)

func refuse(code, field, format string, args ...any) error {
	return refused{&circuitsv1.Refusal{Code: code, Field: field, Reason: fmt.Sprintf(format, args...)}}
}

func wrong(field, format string, args ...any) error {
	return refuse(string(admit.BadRequest), field, field+": "+format, args...)
}

// windowOf is the window of terms: from now where it has no start, for ever where it has no end.
func windowOf(start, end *timestamppb.Timestamp, now time.Time) (calendar.Window, error) {
	w := calendar.Window{Start: now.Unix(), End: calendar.Forever}
	for _, at := range []struct {
		field string
		given *timestamppb.Timestamp
		into  *int64
	}{{"start", start, &w.Start}, {"end", end, &w.End}} {
		if at.given == nil {
			continue
		}
		if err := at.given.CheckValid(); err != nil {
			return w, wrong(at.field, "%s", err)
		}
		if at.given.GetNanos() != 0 {
			return w, wrong(at.field, "whole seconds only")
		}
		*at.into = at.given.GetSeconds()
	}
	if w.Start >= w.End {
		return w, wrong("end", "it must be after the start, %s", time.Unix(w.Start, 0).UTC().Format(time.RFC3339))
	}
	return w, nil
}

// checkTerms refuses what means nothing whatever is booked.
func checkTerms(t *circuitsv1.Terms) error {
	if t == nil {
		return wrong("terms", "say what is requested")
	}
	for _, list := range []struct {
		field string
		names []string
	}{
		{"without_links", t.GetWithoutLinks()},
		{"without_routers", t.GetWithoutRouters()},
		{"apart_from", t.GetApartFrom()},
		{"via", t.GetVia()},
		{"from", []string{t.GetFrom()}},
		{"to", []string{t.GetTo()}},
	} {
		if len(list.names) > maxList {
			return wrong(list.field, "%d are more than %d", len(list.names), maxList)
		}
		for _, name := range list.names {
			if name == "" || utf8.RuneCountInString(name) > maxName {
				return wrong(list.field, "1 to %d characters", maxName)
			}
		}
	}
	switch {
	case checkName(t.GetProject()) != nil:
		return wrong("project", "%s", errName)
	case utf8.RuneCountInString(t.GetDescription()) > maxDescription:
		return wrong("description", "at most %d characters", maxDescription)
	case t.GetProtection() < 0 || t.GetProtection() > circuitsv1.Protection_PROTECTION_NODE_DISJOINT:
		return wrong("protection", "there is no %d", t.GetProtection())
	case t.GetActivation() < 0 || t.GetActivation() > circuitsv1.Activation_ACTIVATION_MANUAL:
		return wrong("activation", "there is no %d", t.GetActivation())
	case circuitsv1.Excess_name[int32(t.GetExcess())] == "":
		return wrong("excess", "there is no %d", t.GetExcess())
	case circuitsv1.OnFailure_name[int32(t.GetOnFailure())] == "":
		return wrong("on_failure", "there is no %d", t.GetOnFailure())
	case setupOf(t) < 0 || setupOf(t) > restore.Last:
		return wrong("setup_priority", "%d is none of 0, which is first, to %d, which displaces nobody", t.GetSetupPriority(), restore.Last)
	case priorityOf(t) < 0 || priorityOf(t) > restore.Last:
		return wrong("priority", "%d is none of 0, which is first, to %d", t.GetPriority(), restore.Last)
	case setupOf(t) < priorityOf(t):
		return wrong("setup_priority", "%d is before priority %d: what displaces others would be displaced by the same (RFC 3209)", setupOf(t), priorityOf(t))
	case setupOf(t) < restore.Last && t.GetVolumeBytes() != 0:
		return wrong("setup_priority", "a volume displaces nobody: it takes what is free")
	case len(t.GetPairs()) > maxList:
		return wrong("pairs", "%d are more than %d", len(t.GetPairs()), maxList)
	}
	for i, p := range t.GetPairs() {
		if _, err := traffic.Read(p); err != nil {
			return wrong("pairs", "number %d: %s", i+1, err)
		}
	}
	if err := errors.Join(checkPathTerms(t), checkScavenger(t)); err != nil {
		return err
	}
	return checkPorts(t)
}

// priorityOf terms, which they hold their capacity with: that of their setup where they have none.
func priorityOf(t *circuitsv1.Terms) int64 {
	if t.Priority == nil {
		return setupOf(t)
	}
	return int64(t.GetPriority())
}

// setupOf terms: the last where they have none, which displaces nobody.
func setupOf(t *circuitsv1.Terms) int64 {
	if t.SetupPriority == nil {
		return restore.Last
	}
	return int64(t.GetSetupPriority())
}

// request is what admit decides on. What it refuses by itself is not looked at here.
func (b *book) request(id string, t *circuitsv1.Terms, now time.Time) (admit.Request, error) {
	w, err := windowOf(t.GetStart(), t.GetEnd(), now)
	if err != nil {
		return admit.Request{}, err
	}
	if w.Start < now.Add(-late).Unix() {
		return admit.Request{}, wrong("start", "it is past; leave it out for now")
	}
	r := admit.Request{
		ID: id, Rate: t.GetRateBitsPerSecond(), Bytes: t.GetVolumeBytes(), Window: w, Cap: capOf(t), MaxDelay: t.GetMaxDelayMicroseconds(),
		Protect: admit.Protection(t.GetProtection()), WithoutLinks: t.GetWithoutLinks(), ApartFrom: t.GetApartFrom(),
	}
	for _, end := range []struct {
		field, name string
		into        *string
	}{{"from", t.GetFrom(), &r.From}, {"to", t.GetTo(), &r.To}} {
		n, err := b.topo.Resolve(end.name)
		if err != nil {
			return r, wrong(end.field, "%s", err)
		}
		*end.into = n.ID.String()
	}
	if r.PathTerms, err = b.pathTermsOf(t); err != nil {
		return r, err
	}
	for _, name := range t.GetWithoutRouters() {
		n, err := b.topo.Resolve(name)
		if err != nil {
			return r, wrong("without_routers", "%s", err)
		}
		r.WithoutNodes = append(r.WithoutNodes, n.ID.String())
	}
	for _, id := range t.GetApartFrom() {
		if _, both := b.admit.Grant(backID(id)); both {
			r.ApartFrom = append(slices.Clip(r.ApartFrom), backID(id))
		}
	}
	return r, nil
}
