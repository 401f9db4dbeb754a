package gnmi

import (
	"context"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/services/routeragent/apply"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// behind is a store whose first Edit is behind another in the line of writers.
type behind struct {
	*router
	waits, release chan struct{}
	edited         int
}

func (b *behind) Edit(ctx context.Context, edit func(*tree.Node) error, confirm *apply.Confirmation) error {
	select {
	case b.waits <- struct{}{}:
		<-b.release
	default:
	}
	if err := b.router.Edit(ctx, edit, confirm); err != nil {
		return err
	}
	b.edited++
	return nil
}

// A Set of the former master that has waited for the new one's must not be applied over it.
func TestTheFormerMastersSetIsRefusedAfterItHasWaited(t *testing.T) {
	b := &behind{router: &router{config: queues(t, 1)}, waits: make(chan struct{}, 1), release: make(chan struct{})}
	s := New(Dependencies{Store: b, State: b, Wake: NewSignal()})
	set := func(id uint64) error {
		_, err := s.Set(t.Context(), &gnmi.SetRequest{Delete: []*gnmi.Path{at(t, "/qos/queues/queue[name=q0]").Proto()},
			Extension: []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_MasterArbitration{
				MasterArbitration: &gnmi_ext.MasterArbitration{ElectionId: &gnmi_ext.Uint128{Low: id}}}}}})
		return err
	}
	former := make(chan error)
	go func() { former <- set(1) }()
	await.True(t, "the former master's Set waits", func() bool { return len(b.waits) == 1 })
	if err := set(2); err != nil {
		t.Fatal(err)
	}
	close(b.release)
	if err := <-former; status.Code(err) != codes.PermissionDenied || b.edited != 1 {
		t.Errorf("after %d edits the former master's Set is answered %v, want PERMISSION_DENIED and the new one's edit alone", b.edited, err)
	}
}

// What a client gave up is no fault of its request.
func TestASetThatWasGivenUpIsCanceled(t *testing.T) {
	for err, want := range map[error]codes.Code{context.Canceled: codes.Canceled, context.DeadlineExceeded: codes.DeadlineExceeded} {
		if got := status.Code(writeStatus(err, &gnmi.SetRequest{})); got != want {
			t.Errorf("%v is answered %s, want %s", err, got, want)
		}
	}
}
