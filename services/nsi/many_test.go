package nsi

import (
	"net/http"
	"sync"
	"testing"

	"github.com/millrace/millrace/internal/testkit/await"
)

// Every message of many connections that change at once is sent once, though the mirror learns late what was sent.
func TestMessagesAreSentOnce(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newRequester(t)
	w.mayCall(r.url)
	c := w.start()
	var all sync.WaitGroup
	asked := make([]string, 60)
	for i := range asked {
		asked[i] = newID()
		all.Go(func() {
			if status, answer := r.send(c, asked[i], reserve("west", "nowhere")); status != http.StatusOK {
				t.Errorf("%d: %s", status, answer)
			}
		})
	}
	all.Wait()
	await.True(t, "all are told", func() bool {
		told := 0
		for _, id := range asked {
			told += min(r.times("reserveFailed "+id), 1)
		}
		return told == len(asked)
	})
	for _, id := range asked {
		if n := r.times("reserveFailed " + id); n != 1 {
			t.Errorf("%s was sent %d times", id, n)
		}
	}
}
