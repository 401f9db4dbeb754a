package circuits

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// behind is how many changes wait for a watcher that does not take them before it is told to begin again.
const behind = 1000

// watcher is told of circuits.
type watcher struct {
	project string
	changes chan *circuitsv1.Circuit
	// lost is closed when a change did not find room.
	lost chan struct{}
}

// tell tells all watchers of a record.
func (b *book) tell(r *circuitsv1.Record) {
	for w := range b.watchers {
		if w.project != "" && w.project != r.GetCircuit().GetTerms().GetProject() {
			continue
		}
		select {
		case w.changes <- r.GetCircuit():
		default:
			close(w.lost)
			delete(b.watchers, w)
		}
	}
}

// Watch implements CircuitsService.
func (a *api) Watch(ctx context.Context, r *connect.Request[circuitsv1.WatchRequest], out *connect.ServerStream[circuitsv1.WatchResponse]) error {
	w := &watcher{project: r.Msg.GetProject(), changes: make(chan *circuitsv1.Circuit, behind), lost: make(chan struct{})}
	var now []*circuitsv1.Circuit
	err := a.c.ledger.Look("", func(all func(func(*circuitsv1.Record) bool)) {
		for record := range all {
			if w.project == "" || w.project == record.GetCircuit().GetTerms().GetProject() {
				now = append(now, record.GetCircuit())
			}
		}
		a.c.book.watchers[w] = true
	})
	if err != nil {
		return answer(err)
	}
	defer a.c.ledger.Look("", func(func(func(*circuitsv1.Record) bool)) { delete(a.c.book.watchers, w) }) //nolint:errcheck // it is read
	for _, c := range now {
		if err := out.Send(&circuitsv1.WatchResponse{Circuit: c}); err != nil {
			return err
		}
	}
	for {
		select {
		case c := <-w.changes:
			if err := out.Send(&circuitsv1.WatchResponse{Circuit: c}); err != nil {
				return err
			}
		case <-w.lost:
			return connect.NewError(connect.CodeResourceExhausted, errors.New("too many changes were not read in time; watch again"))
		case <-ctx.Done():
			return nil
		case <-a.c.loops.Context().Done():
			return connect.NewError(connect.CodeUnavailable, errors.New("the service stops; watch again"))
		}
	}
}
