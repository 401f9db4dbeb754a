package circuits

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// behind is how many changes wait for a watcher that does not read them before it has to begin again.
const behind = 1000

// maxWatchers is how many streams may be open at once.
const maxWatchers = 256

// grace is how long one that has to begin again may take to read that.
const grace = 10 * time.Second

// watcher receives changes of circuits.
type watcher struct {
	project string
	changes chan *circuitsv1.Circuit
	// lost is closed when a change did not find room.
	lost chan struct{}
}

// tell sends a record to all watchers.
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
	var crowded bool
	err := a.c.ledger.Look("", func(all func(func(*circuitsv1.Record) bool)) {
		if crowded = len(a.c.book.watchers) >= maxWatchers; crowded {
			return
		}
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
	if crowded {
		return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("%d streams are open, which is the most there may be; watch again when one has ended", maxWatchers))
	}
	defer a.c.ledger.Look("", func(func(func(*circuitsv1.Record) bool)) { delete(a.c.book.watchers, w) }) //nolint:errcheck // it is read
	sent := make(chan struct{})
	defer close(sent)
	go a.c.drop(ctx, w, sent)
	for _, c := range now {
		if err := out.Send(&circuitsv1.WatchResponse{Circuit: c}); err != nil {
			return err
		}
	}
	for {
		select {
		case <-w.lost:
			return errLost
		default:
		}
		select {
		case c := <-w.changes:
			if err := out.Send(&circuitsv1.WatchResponse{Circuit: c}); err != nil {
				return err
			}
		case <-w.lost:
			return errLost
		case <-ctx.Done():
			return nil
		case <-a.c.loops.Context().Done():
			return connect.NewError(connect.CodeUnavailable, errors.New("the service stops; watch again"))
		}
	}
}

var errLost = connect.NewError(connect.CodeResourceExhausted, errors.New("too many changes were not read in time; watch again"))

// drop ends the writing to a watcher that is too far behind, or when the service stops: a client that does not read
// at all would block it for ever.
func (c *Component) drop(ctx context.Context, w *watcher, sent <-chan struct{}) {
	select {
	case <-sent:
		return
	case <-w.lost:
	case <-c.loops.Context().Done():
	}
	if out, ok := ctx.Value(writer{}).(*http.ResponseController); ok {
		if err := out.SetWriteDeadline(time.Now().Add(c.grace)); err != nil {
			c.deps.Log.WarnContext(ctx, "a watcher that does not read is not dropped", "error", err)
		}
	}
}

// writer is the key of a request's writer in its context.
type writer struct{}

// withWriter lets a handler get at the writer of its answer.
func withWriter(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), writer{}, http.NewResponseController(w))))
	})
}
