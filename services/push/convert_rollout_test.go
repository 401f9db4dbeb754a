package push

import (
	"testing"

	"github.com/millrace/millrace/internal/changestate"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/rollout"
)

// The page and the commands offer the steps of internal/changestate; the state machine must allow exactly
// those.
func TestTheMachineAllowsWhatTheCommandsOffer(t *testing.T) {
	kinds := map[changestate.Action]rollout.Kind{
		changestate.Approve: rollout.Approve, changestate.Apply: rollout.Apply, changestate.Rollback: rollout.Rollback,
	}
	for s, row := range changestate.Table {
		for action, kind := range kinds {
			if got := rollout.Allows(states[s], kind); got != (row.Action == action) {
				t.Errorf("%s: the machine allows %s: %v, the commands offer %q", s, action, got, row.Action)
			}
		}
		if got := rollout.Allows(states[s], rollout.Abort) || states[s].MayStop(); got != row.Abort {
			t.Errorf("%s: the machine can be aborted: %v, the commands offer it: %v", s, got, row.Abort)
		}
		running := states[s].InMotion() || states[s] == rollout.Draft
		if running != (row.Progress == changestate.Running) {
			t.Errorf("%s: in motion %v, followed %s", s, running, row.Progress)
		}
	}
}

func TestEveryStateIsConverted(t *testing.T) {
	for n, name := range pushv1.State_name {
		if _, known := states[pushv1.State(n)]; !known && n != 0 {
			t.Errorf("%s is no state of the machine", name)
		}
	}
	for n, name := range pushv1.DeviceState_name {
		if _, known := routerStates[pushv1.DeviceState(n)]; !known && n != 0 {
			t.Errorf("%s is no router's state of the machine", name)
		}
	}
}
