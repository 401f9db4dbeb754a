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
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

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
	r := &router{name: d.Name, profile: o.Profile}
	if d.Username != "" {
		password, err := secretfile.Read(d.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("read the password of %s for %s: %w", d.Username, d.Name, err)
		}
		r.user = []string{"username", d.Username, "password", password}
	}
	c, err := gnmiclient.Dial(r.as(ctx), d, o.Credentials)
	if err != nil {
		return nil, lost(err)
	}
	r.client = c
	return r, nil
}

type router struct {
	name    string
	profile Profile
	client  *gnmiclient.Client
	// user is sent with every request: Junos requires an account beside the certificate.
	user []string
}

func (r *router) as(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, r.user...)
}

// Close implements driver.Driver.
func (r *router) Close() error { return r.client.Close() }

func extension(c *gnmi_ext.Commit) []*gnmi_ext.Extension {
	return []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_Commit{Commit: c}}}
}

func confirm(id string) *gnmi_ext.Commit {
	return &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Confirm{Confirm: &gnmi_ext.CommitConfirm{}}}
}

// Probe implements driver.Driver: an empty Set that confirms a commit which cannot exist changes nothing,
// and only a router that implements the extension refuses it (gnmi.md section 2.2).
func (r *router) Probe(ctx context.Context) error {
	_, err := r.client.Set(r.as(ctx), &gnmi.SetRequest{Extension: extension(confirm("probe-" + rand.Text()))})
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.InvalidArgument, codes.NotFound:
		return nil
	case codes.OK, codes.Unimplemented:
		return fmt.Errorf("%s would not roll back by itself: %w. Nothing was sent. Load the text of `millrace policy plan NAME --router %s --render junos` by hand, with `commit confirmed`",
			r.name, driver.ErrNoCommitConfirm, r.name)
	}
	return lost(fmt.Errorf("probe %s for commit-confirm: %w", r.name, err))
}

// Pending implements driver.Driver. A confirmation of a commit that cannot exist is refused with FAILED_PRECONDITION
// where none waits, and with INVALID_ARGUMENT where another one does (gNMI commit-confirmed extension). What is
// pending is reported before its id is compared, so the answer is the same on a router that cannot confirm anything.
func (r *router) Pending(ctx context.Context, _ driver.Master) (bool, error) {
	_, err := r.client.Set(r.as(ctx), &gnmi.SetRequest{Extension: extension(confirm("probe-" + rand.Text()))})
	switch status.Code(err) {
	case codes.FailedPrecondition:
		return false, nil
	case codes.InvalidArgument:
		return true, nil
	}
	return false, fmt.Errorf("%w: ask %s whether a commit is pending: %w", driver.ErrLost, r.name, err)
}

// Commit implements driver.Driver. Whether Junos implements master arbitration was never tried, so no
// request has a master.
func (r *router) Commit(ctx context.Context, _ driver.Master, c driver.Commit) error {
	req := &gnmi.SetRequest{Extension: extension(&gnmi_ext.Commit{Id: c.ID, Action: &gnmi_ext.Commit_Commit{
		Commit: &gnmi_ext.CommitRequest{RollbackDuration: durationpb.New(c.Rollback)},
	}})}
	for _, change := range c.Changes {
		if change.Path != junosconf.EntryPath {
			return fmt.Errorf("%s is configured with %s and cannot be given %s; request a new change set, or change os: in the inventory", r.name, junosconf.EntryPath, change.Path)
		}
		text, err := r.load(change)
		if err != nil {
			return err
		}
		req.Update = append(req.Update, &gnmi.Update{
			Path: &gnmi.Path{Origin: "cli"}, Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_AsciiVal{AsciiVal: text}},
		})
	}
	_, err := r.client.Set(r.as(ctx), req)
	return lost(err)
}

// load is the text that takes a router from before to after. Merged text is
// enough where nothing is removed and every list grows at its end; otherwise
// lines delete the group first.
func (r *router) load(c diff.Change) (string, error) {
	after, err := junosconf.Parse(c.After)
	if err != nil {
		return "", fmt.Errorf("read the configuration meant for %s: %w", r.name, err)
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

// Confirm implements driver.Driver.
func (r *router) Confirm(ctx context.Context, _ driver.Master, id string) error {
	return r.finish(ctx, confirm(id))
}

// Cancel implements driver.Driver.
func (r *router) Cancel(ctx context.Context, _ driver.Master, id string) error {
	return r.finish(ctx, &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Cancel{Cancel: &gnmi_ext.CommitCancel{}}})
}

// finish ends a pending commit. FAILED_PRECONDITION: none is pending;
// INVALID_ARGUMENT: another one is (gNMI commit-confirmed extension).
func (r *router) finish(ctx context.Context, c *gnmi_ext.Commit) error {
	_, err := r.client.Set(r.as(ctx), &gnmi.SetRequest{Extension: extension(c)})
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.InvalidArgument, codes.NotFound:
		return fmt.Errorf("%w: %w", driver.ErrNotPending, err)
	}
	return lost(err)
}

// lost marks errors after which it is unknown whether the router carried out the request.
func lost(err error) error {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return fmt.Errorf("%w: %w", driver.ErrLost, err)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %w", driver.ErrLost, err)
	}
	return err
}
