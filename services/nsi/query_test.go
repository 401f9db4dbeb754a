package nsi

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/state"
	nsiv1 "github.com/millrace/millrace/proto/gen/millrace/nsi/v1"
	"github.com/millrace/millrace/services/nsi/soap"
	"github.com/millrace/millrace/services/nsi/states"
)

// An answer that is too long to be recorded is refused, and says what to do; at once it is given.
func TestLongAnswers(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newRequester(t)
	w.mayCall(r.url)
	c := w.start()
	for _, id := range []string{"a", "b", "c"} {
		is := &nsiv1.Connection{Id: id, Requester: theirNSA, Description: strings.Repeat("x", maxAnswer/2), Changed: timestamppb.Now()}
		setStates(is, states.New())
		must(t, w.store.Apply(t.Context(), state.Op{Key: connections + id, Value: is}))
	}
	if status, answer := r.send(c, newID(), soap.E("t:querySummary")); status != http.StatusInternalServerError || !strings.Contains(answer, "<errorId>00600<") {
		t.Errorf("all: %d, %.300s", status, answer)
	}
	if status, answer := r.send(c, newID(), soap.E("t:querySummarySync")); status != http.StatusOK {
		t.Errorf("all at once: %d, %.300s", status, answer)
	}
	one := newID()
	if status, answer := r.send(c, one, about("querySummary", "b")); status != http.StatusOK {
		t.Errorf("one: %d, %.300s", status, answer)
	}
	r.told("querySummaryConfirmed " + one)
}
