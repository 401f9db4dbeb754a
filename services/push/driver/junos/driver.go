// Package junos drives Junos routers: one configuration group as text, by gNMI
// with origin cli.
//
// In: the config entry services/policy/render/junos writes. Out: gNMI Set with
// the Commit extension, and what can be read back. Next: the router.
//
// This package was never run against a Junos device. Where a device may differ
// from published models and field reports, Profile has a field, and every commit
// is read back before it is confirmed.
package junos

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/junosconf"
	"github.com/millrace/millrace/internal/secretfile"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/driver"
)

// Opener dials routers with the controller's certificate, and with the user of the inventory where there is one.
type Opener struct {
	Credentials *tls.Config
	Profile     Profile
}

// Open implements driver.Opener.
func (o Opener) Open(ctx context.Context, d device.Device) (driver.Driver, error) {
	r := &router{driver.CommitConfirm{Name: d.Name, NoMaster: true}, o.Profile}
	if d.Username != "" {
		password, err := secretfile.Read(d.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("read the password of %s for %s: %w", d.Username, d.Name, err)
		}
		r.User = []string{"username", d.Username, "password", password}
	}
	c, err := gnmiclient.Dial(r.As(ctx), d, o.Credentials)
	if err != nil {
		return nil, driver.Lost(err)
	}
	r.Client = c
	return r, nil
}

// router is a Junos router, whose user is sent with every request: it requires an account beside the certificate.
type router struct {
	driver.CommitConfirm
	profile Profile
}

// Probe implements driver.Driver.
func (r *router) Probe(ctx context.Context) error {
	err := r.CommitConfirm.Probe(ctx)
	if errors.Is(err, driver.ErrNoCommitConfirm) {
		return fmt.Errorf("%s would not roll back by itself: %w. Nothing was sent. Load the text of `millrace policy plan NAME --router %s --render junos` by hand, with `commit confirmed`",
			r.Name, driver.ErrNoCommitConfirm, r.Name)
	}
	return err
}

// Commit implements driver.Driver. Whether Junos implements master arbitration was never tried, so no
// request has a master.
func (r *router) Commit(ctx context.Context, as driver.Master, c driver.Commit) error {
	req := &gnmi.SetRequest{}
	for _, change := range c.Changes {
		if change.Path != junosconf.EntryPath {
			return fmt.Errorf("%s is configured with %s and cannot be given %s; request a new change set, or change os: in the inventory", r.Name, junosconf.EntryPath, change.Path)
		}
		text, err := r.load(change)
		if err != nil {
			return err
		}
		req.Update = append(req.Update, &gnmi.Update{
			Path: &gnmi.Path{Origin: "cli"}, Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_AsciiVal{AsciiVal: text}},
		})
	}
	return r.Send(ctx, as, c, req)
}

// load is the text that takes a router from before to after. Merged text is
// enough where nothing is removed and every list grows at its end; otherwise
// lines delete the group first.
func (r *router) load(c diff.Change) (string, error) {
	after, err := junosconf.Parse(c.After)
	if err != nil {
		return "", fmt.Errorf("read the configuration meant for %s: %w", r.Name, err)
	}
	if before, err := junosconf.Parse(c.Before); err == nil && !after.Empty() { // what was edited by hand may not parse
		merged := before.Clone()
		merged.Merge(after)
		if merged.Equal(after) {
			return after.Text(), nil
		}
	}
	if r.profile.Removal == RemovalRefused {
		return "", fmt.Errorf("statements of group %s would have to go, and %s is not known to take them away over gNMI; remove them by hand (`delete groups %s`, `delete apply-groups %s`, commit), then request a new change set",
			junosconf.Group, r.profile.Name, junosconf.Group, junosconf.Group)
	}
	lines := "delete apply-groups " + junosconf.Group + "\ndelete groups " + junosconf.Group + "\n"
	return lines + after.SetLines(), nil
}
