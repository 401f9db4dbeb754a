package state

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/lifecycle"
	statev1 "github.com/millrace/millrace/proto/gen/millrace/state/v1"
)

// Forms are the forms of records that a program knows.
type Forms struct {
	// Reads is the highest form that it reads; it reads all lower ones, too.
	Reads uint32
	// Writes is the form in which it writes. It is raised a release after Reads, so that in an upgrade of one process
	// after the other those that are not upgraded yet read what the others write.
	Writes uint32
}

// Own are this program's.
var Own = Forms{Reads: 1, Writes: 1}

// ErrTooOld means that etcd has records which this program does not know.
var ErrTooOld = errors.New("etcd has records of a newer millrace")

// keyForm has the forms of what is in etcd.
const keyForm = "form"

// fits is nil for a program that reads what is recorded.
func (f Forms) fits(recorded *statev1.Form, version string) error {
	if recorded.GetWritten() <= f.Reads {
		return nil
	}
	return fmt.Errorf("%w: they are of form %d, which millrace %s has written, and this millrace %s reads forms up to %d. Run %s or a later one; "+
		"to go back to this one, restore the backup that was made before the upgrade",
		ErrTooOld, recorded.GetWritten(), recorded.GetMillrace(), version, f.Reads, recorded.GetMillrace())
}

// joined is what is recorded once a program has joined, or why it may not.
func (f Forms) joined(recorded *statev1.Form, version string) (*statev1.Form, error) {
	if err := f.fits(recorded, version); err != nil {
		return nil, err
	}
	next := proto.CloneOf(recorded)
	if f.Writes > recorded.GetWritten() {
		next.Written, next.Millrace = f.Writes, version
	}
	return next, nil
}

// Join records the form of a program that starts, before it reads or writes another record. It is refused with
// ErrTooOld where another one has written a form that it does not read, and has written nothing then.
func (s *Store) Join(ctx context.Context, f Forms, version string) error {
	for {
		recorded, revision, err := s.form(ctx)
		if err != nil {
			return err
		}
		next, err := f.joined(recorded, version)
		if err != nil || proto.Equal(next, recorded) {
			return err
		}
		if _, err := s.Put(ctx, keyForm, revision, next); !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

// form is what is recorded; empty before the first program has joined.
func (s *Store) form(ctx context.Context) (*statev1.Form, int64, error) {
	recorded := &statev1.Form{}
	revision, err := s.Get(ctx, keyForm, recorded)
	if errors.Is(err, ErrNotFound) {
		return &statev1.Form{}, 0, nil
	}
	return recorded, revision, err
}

// Form is the highest form in which a program has written here, 0 before the first has joined.
func (s *Store) Form(ctx context.Context) (uint32, error) {
	recorded, _, err := s.form(ctx)
	return recorded.GetWritten(), err
}

// Outdated returns ErrTooOld when a program has joined that writes a form which this one does not read, or nil when ctx
// ends.
func (s *Store) Outdated(ctx context.Context, f Forms, version string) error {
	for ctx.Err() == nil {
		if err := s.outdated(ctx, f, version); errors.Is(err, ErrTooOld) {
			return err
		}
		lifecycle.Pause(ctx, memberPause)
	}
	return nil
}

// outdated looks once, and then at each change until the watch ends.
func (s *Store) outdated(ctx context.Context, f Forms, version string) error {
	_, revision, err := s.Snapshot(ctx, keyForm)
	if err == nil {
		err = s.looked(ctx, f, version)
	}
	if err != nil {
		return err
	}
	for _, err := range s.Watch(ctx, keyForm, revision) {
		if err == nil {
			err = s.looked(ctx, f, version)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) looked(ctx context.Context, f Forms, version string) error {
	recorded, _, err := s.form(ctx)
	if err != nil {
		return err
	}
	return f.fits(recorded, version)
}
