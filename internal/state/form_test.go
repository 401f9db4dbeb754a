package state_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/newer"
	statev1 "github.com/millrace/millrace/proto/gen/millrace/state/v1"
)

// Programs of three releases start on one etcd, in any order that an upgrade or a downgrade has: a change of form takes
// two releases, so that two in a row run side by side, and a program that is older than that is refused.
func TestProgramsJoinAnEtcd(t *testing.T) {
	programs := map[string]state.Forms{"0.1.0": {Reads: 1, Writes: 1}, "0.2.0": {Reads: 2, Writes: 1}, "0.3.0": {Reads: 2, Writes: 2}}
	first, second := &statev1.Form{Written: 1, Millrace: "0.1.0"}, &statev1.Form{Written: 2, Millrace: "0.3.0"}
	for name, c := range map[string]struct {
		start   []string
		refused string // the last one, in words
		want    *statev1.Form
	}{
		"the first":               {[]string{"0.1.0"}, "", first},
		"a rolling upgrade":       {[]string{"0.1.0", "0.2.0", "0.1.0", "0.2.0"}, "", first},
		"the next one":            {[]string{"0.1.0", "0.2.0", "0.3.0", "0.2.0", "0.3.0"}, "", second},
		"a downgrade by one":      {[]string{"0.3.0", "0.2.0"}, "", second},
		"a downgrade by two":      {[]string{"0.3.0", "0.1.0"}, "they are of form 2, which millrace 0.3.0 has written, and this millrace 0.1.0 reads forms up to 1. Run 0.3.0 or a later one", second},
		"an upgrade over a gap":   {[]string{"0.1.0", "0.3.0"}, "", second},
		"and the one before it":   {[]string{"0.1.0", "0.3.0", "0.1.0"}, "reads forms up to 1", second},
		"one that starts at once": {[]string{"0.1.0", "0.1.0"}, "", first},
	} {
		t.Run(name, func(t *testing.T) {
			s := etcd.Shared(t)
			var err error
			for i, version := range c.start {
				if err = s.Join(t.Context(), programs[version], version); err != nil && i < len(c.start)-1 {
					t.Fatal(err)
				}
			}
			if (err == nil) != (c.refused == "") || err != nil && (!errors.Is(err, state.ErrTooOld) || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("the last one: %v, want %q", err, c.refused)
			}
			is := &statev1.Form{}
			if _, err := s.Get(t.Context(), "form", is); err != nil || !proto.Equal(is, c.want) {
				t.Errorf("%v is recorded (%v), want %v", is, err, c.want)
			}
		})
	}
}

// A program that runs ends when a newer one joins that it may not run beside, and not before.
func TestAProgramIsTooOldBesideANewerOne(t *testing.T) {
	s := etcd.Shared(t)
	old := state.Forms{Reads: 1, Writes: 1}
	if err := s.Join(t.Context(), old, "0.1.0"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended, kept := make(chan error, 1), make(chan error, 1)
	go func() { ended <- s.Outdated(t.Context(), old, "0.1.0") }()
	go func() { kept <- s.Outdated(ctx, state.Forms{Reads: 2, Writes: 1}, "0.2.0") }()
	if err := s.Join(t.Context(), state.Forms{Reads: 2, Writes: 1}, "0.2.0"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		t.Fatalf("it ends beside one that writes its own form: %v", err)
	default:
	}
	if err := s.Join(t.Context(), state.Forms{Reads: 2, Writes: 2}, "0.3.0"); err != nil {
		t.Fatal(err)
	}
	if err := await.Value(t, "the older program ends", ended); !errors.Is(err, state.ErrTooOld) {
		t.Errorf("it ends with %v", err)
	}
	stop()
	if err := await.Value(t, "the one before goes on until it is stopped", kept); err != nil {
		t.Errorf("the one before ends with %v", err)
	}
}

// What a newer program records beside the forms is there after this one has joined.
func TestFieldsOfANewerProcessStay(t *testing.T) {
	newer.Owner(t, "internal/state")
	s := etcd.Shared(t)
	if err := s.Join(t.Context(), state.Forms{Reads: 1, Writes: 1}, "0.1.0"); err != nil {
		t.Fatal(err)
	}
	kept := newer.Plant(t, s, "form")
	if err := s.Join(t.Context(), state.Forms{Reads: 2, Writes: 2}, "0.2.0"); err != nil {
		t.Fatal(err)
	}
	kept.Stay(t)
}
