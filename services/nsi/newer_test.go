package nsi

import (
	"testing"

	"github.com/millrace/millrace/internal/testkit/newer"
)

// A newer process runs beside this one, and writes fields that this one does not know: they are there after this one
// has written the records again.
func TestFieldsOfANewerProcessStay(t *testing.T) {
	newer.Owner(t, "services/nsi")
	w, r := newWorld(t), newRequester(t)
	w.mayCall(r.url)
	c := w.start()
	first := newID()
	id := r.connection(r.send(c, first, reserve("west?vlan=1790", "east")))
	r.told("reserveConfirmed " + first)
	kept := newer.Plant(t, w.store, connections)
	commit := newID()
	r.send(c, commit, about("reserveCommit", id))
	r.told("reserveCommitConfirmed " + commit)
	kept.Stay(t)
}
