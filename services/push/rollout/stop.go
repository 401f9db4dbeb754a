package rollout

// halt ends a run for a reason outside of it: no further commit is sent, and what waits for its confirmation is rolled
// back. It waits for answers to what was sent, since only then is it known what there is to roll back, and for nothing
// that is only being read. Once every router has shown the new state, confirmations are on their way: a confirmation
// changes nothing that a router does, and to stop between two of them would leave the routers in two states.
func (m *machine) halt(why string) {
	if m.phase == idle || m.phase == confirming || m.phase == returning || m.resumed || m.stopped != "" {
		return
	}
	m.stopped = why
	if m.phase == locking {
		return // nothing is recorded without the locks
	}
	for i := range m.Routers {
		if !m.Routers[i].doing.IsSet() {
			m.Routers[i].doing = ""
		}
	}
	m.advance()
}

// Decides reports whether what leads from one change set to the other sends the first confirmation: up to it a run can
// be stopped, and after it nothing stops the run.
func Decides(from, to ChangeSet) bool {
	return from.phase != confirming && to.phase == confirming && !to.resumed
}
