package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/device"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/rollout"
)

// comparison is what routers have beside what they are to have.
type comparison struct {
	// devices are the routers that a plan changes, in the order in which they are changed, and those of which that is
	// not known.
	devices []*pushv1.DeviceChange
	// notes are for people. left are routers that stay as they are; failed is why others could not be compared.
	notes, left, failed []string
}

// event is what a comparison means for a draft.
func (is comparison) event() rollout.Event {
	e := rollout.Event{Kind: rollout.Plan, Routers: routersOf(is.devices), LeftAlone: is.left}
	for _, d := range is.devices {
		e.Entries += len(d.GetEntries())
	}
	if len(is.failed) > 0 {
		e.Text = "nothing was sent; " + strings.Join(is.failed, "; ")
	}
	return e
}

// parallelRouters bounds how many routers are spoken to at once.
const parallelRouters = 16

// compare reads routers. The intended config of one without a plan is empty, but for those that are left alone, each
// for a reason. The error is that a commit is pending on one.
func (c *Component) compare(ctx context.Context, plan *policyv1.PlanResponse, routers []device.Device, alone map[string]string) (is comparison, err error) {
	plans := map[string]*policyv1.RouterPlan{}
	for _, p := range plan.GetPlans() {
		plans[p.GetRouter()] = p
	}
	var all []device.Device
	for _, d := range routers {
		if why := alone[d.Name]; why != "" {
			is.notes = append(is.notes, fmt.Sprintf("%s is left alone: %s", d.Name, why))
			is.left = append(is.left, d.Name)
			continue
		}
		all = append(all, d)
	}
	changes, errs := make([]*pushv1.DeviceChange, len(all)), make([]error, len(all))
	var g errgroup.Group
	g.SetLimit(parallelRouters)
	for i, d := range all {
		g.Go(func() error {
			changes[i], errs[i] = c.compareOne(ctx, d, plans[d.Name])
			return nil
		})
	}
	g.Wait() //nolint:errcheck // errors are in errs
	for i, d := range all {
		if pending := (*pendingError)(nil); errors.As(errs[i], &pending) {
			return comparison{}, pending
		}
		is.add(d.Name, plans[d.Name], changes[i], errs[i])
	}
	slices.SortStableFunc(is.devices, func(a, b *pushv1.DeviceChange) int { return rank(a) - rank(b) })
	return is, nil
}

// add takes what was found of a router.
func (is *comparison) add(router string, plan *policyv1.RouterPlan, change *pushv1.DeviceChange, err error) {
	switch {
	case err == nil && len(change.GetEntries()) > 0:
		is.devices = append(is.devices, change)
	case err == nil:
	case plan == nil && !errors.Is(err, errConflict):
		is.notes = append(is.notes, fmt.Sprintf("%s has no part in the plan and could not be read, so managed entries it may still have stay: %v", router, err))
		is.left = append(is.left, router)
	default:
		is.failed = append(is.failed, fmt.Sprintf("%s: %v", router, err))
		is.devices = append(is.devices, &pushv1.DeviceChange{
			Device: router, Plan: cmp.Or(plan, noPart(router)), State: pushv1.DeviceState_DEVICE_STATE_FAILED, Error: err.Error(),
		})
	}
}

// rank is the order in which routers are changed, make before break: first
// routers that must be ready for redirected packets, then those that redirect,
// last those that have no part in the policy any more.
func rank(d *pushv1.DeviceChange) int {
	switch {
	case len(d.GetPlan().GetEntries()) == 0:
		return 2
	case len(d.GetPlan().GetLsps()) > 0:
		return 1
	}
	return 0
}

func (c *Component) compareOne(ctx context.Context, d device.Device, plan *policyv1.RouterPlan) (*pushv1.DeviceChange, error) {
	vendor, err := c.deps.Vendors.Of(d)
	if err != nil {
		return nil, err
	}
	if err := checkEncoding(plan, d, vendor.Encoding); err != nil {
		return nil, err
	}
	intended := entriesOf(plan)
	running, err := c.read(ctx, d, intended)
	if err != nil {
		return nil, err
	}
	changes := diff.Of(vendor.Encoding, running, intended)
	return &pushv1.DeviceChange{
		Device: d.Name, Plan: cmp.Or(plan, noPart(d.Name)), Entries: changesToProto(changes), Diff: diff.Text(changes),
		State: pushv1.DeviceState_DEVICE_STATE_PLANNED,
	}, nil
}

// noPart is the plan of a router without one.
func noPart(router string) *policyv1.RouterPlan {
	return &policyv1.RouterPlan{Router: router, Reasons: []string{"the policy has no part for this router any more"}}
}

// checkEncoding refuses a plan made for another vendor: services/policy and this service read different inventories.
func checkEncoding(plan *policyv1.RouterPlan, d device.Device, want configentry.Encoding) error {
	for _, e := range plan.GetEntries() {
		if got := configentry.EncodingFromProto(e.GetEncoding()); got != want {
			return fmt.Errorf("the plan of %s is encoded in %s, and the router takes %s; give services/policy and services/push the same inventory", d.Name, got, want)
		}
	}
	return nil
}

// read returns the managed part of a router's running config, unless unmanaged config is in the way of the intended
// entries, or of the deletion of the others. Whether a commit is pending is asked before and after: what is rolled back
// or arrives in between must not be taken for what the router keeps.
func (c *Component) read(ctx context.Context, d device.Device, intended map[string]string) (map[string]string, error) {
	r, err := c.open(ctx, d, allowanceOf(intended, c.cfg.CommitRate))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := r.atRest(ctx); err != nil {
		return nil, err
	}
	running, conflicts, err := r.whole(ctx, intended)
	if err == nil {
		err = r.atRest(ctx)
	}
	if err == nil {
		err = inTheWay(conflicts, "; remove that, or leave the interface out")
	}
	return running.Entries, err
}
