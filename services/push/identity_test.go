package push

import (
	"testing"
	"time"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	etcdserver "github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/services/push/driver"
)

// onAServer is a world whose etcd can come back with older data.
func onAServer(t *testing.T) (*world, *etcdserver.Server) {
	t.Helper()
	server := etcdserver.Start(t, program.OwnHost())
	w := newWorld(t)
	w.stop()
	w.deps.State = dial(t, server)
	w.start()
	return w, server
}

// dial is a connection of its own, as each process has: each notices by itself whether etcd came back with
// older data.
func dial(t *testing.T, server *etcdserver.Server) *state.Store {
	t.Helper()
	store, err := state.Dial([]string{server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// onItsOwnConnection is a control plane on the same etcd, with a connection of its own.
func (w *world) onItsOwnConnection(server *etcdserver.Server) *Component {
	w.t.Helper()
	mine := w.deps.State
	w.deps.State = dial(w.t, server)
	defer func() { w.deps.State = mine }()
	return w.second()
}

// asMaster takes a lock as a run does, and is what routers would be sent.
func asMaster(t *testing.T, c *Component) (out driver.Master) {
	t.Helper()
	await.True(t, "etcd answers", func() bool {
		held, err := c.deps.State.Lock(t.Context(), "test", time.Minute, keyLocks+"er")
		if err != nil {
			return false
		}
		defer held.Release()
		out, err = c.master(t.Context(), held)
		return err == nil
	})
	return out
}

// lookAround is what each process does again and again, whether it sends something or not.
func lookAround(t *testing.T, processes ...*Component) {
	t.Helper()
	for _, c := range processes {
		await.True(t, "etcd answers", func() bool { return c.takeUpAll(t.Context(), false) == nil })
	}
}

// comeBack is etcd with the data that were kept.
func comeBack(t *testing.T, server *etcdserver.Server) {
	t.Helper()
	server.PutBack(t)
	server.Again(t)
}

// Two processes notice older data, each by itself; one of them has never sent anything. The first to send
// makes a new name, the other takes it, and neither makes one more: they would no longer be compared with
// each other. The same data come back twice, with a name that the sending process has given up since.
func TestOfTwoThatNoticeOlderDataOneMakesANewIdentity(t *testing.T) {
	for name, idleFirst := range map[string]bool{"who was idle sends first": true, "who was idle sends second": false} {
		t.Run(name, func(t *testing.T) {
			w, server := onAServer(t)
			worker, idle := w.push, w.onItsOwnConnection(server)
			names := map[string]bool{asMaster(t, worker).Role: true}
			server.Keep(t)
			for range 2 {
				asMaster(t, worker)
				lookAround(t, worker, idle)
				comeBack(t, server)
				order := []*Component{worker, idle}
				if idleFirst {
					order = []*Component{idle, worker}
				}
				renewed := asMaster(t, order[0]).Role
				if names[renewed] {
					t.Errorf("%s was used before etcd came back with older data", renewed)
				}
				names[renewed] = true
				for _, c := range []*Component{order[1], order[0], order[1]} {
					if got := asMaster(t, c).Role; got != renewed {
						t.Errorf("%s is used beside %s", got, renewed)
					}
				}
			}
		})
	}
}

// Data come back that have a name which another process made and used; a process that has sent nothing all
// the time recognises it.
func TestANameThatAnotherProcessMadeIsNotUsedAgain(t *testing.T) {
	w, server := onAServer(t)
	worker, idle := w.push, w.onItsOwnConnection(server)
	server.Keep(t)
	asMaster(t, worker)
	comeBack(t, server)
	second := asMaster(t, worker).Role
	lookAround(t, idle)
	server.Keep(t)
	asMaster(t, worker)
	lookAround(t, idle)
	comeBack(t, server)
	if got := asMaster(t, idle).Role; got == second {
		t.Errorf("%s was used before etcd came back with older data", got)
	}
}

// Locks from before are void, and their revision is higher than that of all new ones for a while: routers
// must not receive it under the new name.
func TestLocksFromBeforeOlderDataAreNotUsed(t *testing.T) {
	w, server := onAServer(t)
	server.Keep(t)
	held, err := w.deps.State.Lock(t.Context(), "test", time.Minute, keyLocks+"er")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	comeBack(t, server)
	await.True(t, "etcd answers", func() bool {
		_, err = w.deps.State.Keys(t.Context(), keyLocks)
		return err == nil
	})
	if got, err := w.push.master(t.Context(), held); err == nil {
		t.Errorf("routers hear %v", got)
	}
}
