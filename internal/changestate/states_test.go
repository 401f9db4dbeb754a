package changestate

import (
	"testing"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

func TestEveryStateHasARow(t *testing.T) {
	for number, name := range pushv1.State_name {
		if Table[pushv1.State(number)].Progress == "" {
			t.Errorf("%s has no row", name)
		}
	}
}

func TestOperatorsActOnlyWhileTheServiceDoesNot(t *testing.T) {
	for s, row := range Table {
		if row.Progress == Running && row.Action != "" {
			t.Errorf("%s: an operator may %s while the service is at work", s, row.Action)
		}
		if row.Progress == Waiting && row.Action == "" && !row.Abort {
			t.Errorf("%s waits for an operator who has nothing to do", s)
		}
	}
}

func TestEachActionBelongsToOneState(t *testing.T) {
	states := map[Action]pushv1.State{}
	for s, row := range Table {
		if row.Action == "" {
			continue
		}
		if other, taken := states[row.Action]; taken {
			t.Errorf("%s is allowed in %s and in %s", row.Action, s, other)
		}
		states[row.Action] = s
	}
	for action, want := range map[Action]pushv1.State{
		Approve: pushv1.State_STATE_PLANNED, Apply: pushv1.State_STATE_APPROVED, Rollback: pushv1.State_STATE_VERIFIED,
	} {
		if !Allows(want, action) || states[action] != want {
			t.Errorf("%s is allowed in %s, want %s", action, states[action], want)
		}
	}
}

func TestAStateOfANewerServiceIsNotFollowed(t *testing.T) {
	if IsRunning(99) {
		t.Error("a command would follow a state it does not know for ever")
	}
}
