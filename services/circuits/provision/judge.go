package provision

import (
	"fmt"
	"slices"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/circuits/life"
)

// Verdict is what a change set means for a circuit.
type Verdict struct {
	Do Do
	// Tell is the kind of the event to pass on; Text says why.
	Tell life.Kind
	Text string
}

// Do says what follows.
type Do string

// What there is.
const (
	// Wait: it has not ended.
	Wait Do = "wait"
	// Again: it has ended, and nothing of it was ever sent, or it was planned by a replica that had not read the
	// circuit's last transition. Another one is requested under another name, for the same attempt.
	Again Do = "again"
	// Tell it.
	Tell Do = "tell"
	// Read routers first: it changed nothing on the router where the circuit begins, so that router was not read.
	Read Do = "read"
)

// UnderWay reports whether a change set is being planned or applied, or will be by itself.
func UnderWay(cs *pushv1.ChangeSet) bool {
	switch cs.GetState() {
	case pushv1.State_STATE_DRAFT, pushv1.State_STATE_CANARY, pushv1.State_STATE_APPLYING, pushv1.State_STATE_APPLIED, pushv1.State_STATE_ROLLING_BACK:
		return true
	case pushv1.State_STATE_PLANNED, pushv1.State_STATE_APPROVED:
		return cs.GetApprovalRule() != nil && cs.GetApprovalRule().GetPersons() == 0
	}
	return false
}

// Judge says what the change set of a circuit's attempt means for it. ingress is the router where the circuit begins,
// routers are all of its path.
func Judge(c Circuit, cs *pushv1.ChangeSet, ingress string, routers []string) Verdict {
	switch cs.GetState() {
	case pushv1.State_STATE_PLANNED, pushv1.State_STATE_APPROVED, pushv1.State_STATE_SCHEDULED:
		if unwanted(c.Life) {
			// Nobody can apply it any more: services/push asks before its first commit whether its circuits are in
			// force.
			return Verdict{Tell, life.ChangeUndone, fmt.Sprintf("change set %s was not applied before that", cs.GetId())}
		}
	case pushv1.State_STATE_VERIFIED, pushv1.State_STATE_EMPTY:
		if c.Life.Work == life.Removes {
			return removed(c, cs, routers)
		}
		return installed(c, cs, ingress)
	case pushv1.State_STATE_ROLLED_BACK, pushv1.State_STATE_ABORTED:
		return Verdict{Tell, life.ChangeUndone, ended(cs)}
	case pushv1.State_STATE_FAILED:
		return broken(cs)
	}
	return Verdict{Do: Wait}
}

// unwanted: the change set that gives it to routers has not ended, and no router is to have it any more.
func unwanted(c life.Circuit) bool {
	return c.Work == life.Installs && (c.State == life.Releasing || c.State == life.Deactivating)
}

func installed(c Circuit, cs *pushv1.ChangeSet, ingress string) Verdict {
	for _, r := range cs.GetRefusedCircuits() {
		if r.GetCircuit() == c.ID {
			return Verdict{Tell, life.ChangeUndone, fmt.Sprintf("change set %s leaves it out: %s", cs.GetId(), r.GetReason())}
		}
	}
	looked := slices.ContainsFunc(cs.GetDevices(), func(d *pushv1.DeviceChange) bool { return d.GetDevice() == ingress })
	switch {
	case !slices.Contains(cs.GetCircuits(), c.ID) && unwanted(c.Life):
		return Verdict{Tell, life.ChangeFailed, fmt.Sprintf("change set %s was planned without it", cs.GetId())}
	case !slices.Contains(cs.GetCircuits(), c.ID):
		return Verdict{Do: Again, Text: fmt.Sprintf("change set %s was planned without it", cs.GetId())}
	case cs.GetState() == pushv1.State_STATE_VERIFIED && looked:
		return Verdict{Tell, life.ChangeVerified, "change set " + cs.GetId()}
	}
	return Verdict{Do: Read, Text: "change set " + cs.GetId()}
}

// removed: a router that was left alone may still have it.
func removed(c Circuit, cs *pushv1.ChangeSet, routers []string) Verdict {
	left := slices.IndexFunc(cs.GetLeftAlone(), func(r string) bool { return slices.Contains(routers, r) })
	switch {
	case slices.Contains(cs.GetCircuits(), c.ID):
		return Verdict{Do: Again, Text: fmt.Sprintf("change set %s was planned with it", cs.GetId())}
	case left >= 0:
		return Verdict{Do: Again, Text: fmt.Sprintf("change set %s left router %s as it is", cs.GetId(), cs.GetLeftAlone()[left])}
	}
	return Verdict{Tell, life.ChangeVerified, "change set " + cs.GetId()}
}

// broken tells a change set of which nothing was ever sent from one that some router may have.
func broken(cs *pushv1.ChangeSet) Verdict {
	sent, some := false, false
	for _, d := range cs.GetDevices() {
		sent = sent || d.GetCommitId() != ""
		switch d.GetState() {
		case pushv1.DeviceState_DEVICE_STATE_PLANNED, pushv1.DeviceState_DEVICE_STATE_FAILED, pushv1.DeviceState_DEVICE_STATE_ROLLED_BACK:
		default:
			some = true
		}
	}
	switch {
	case some:
		return Verdict{Tell, life.ChangeFailed, ended(cs)}
	case sent:
		return Verdict{Tell, life.ChangeUndone, ended(cs)}
	}
	return Verdict{Do: Again, Text: ended(cs)}
}

// maxText is how much of a note goes into a circuit's history.
const maxText = 300

// ended is the last line of a change set's history.
func ended(cs *pushv1.ChangeSet) string {
	text := "change set " + cs.GetId()
	if n := len(cs.GetHistory()); n > 0 && cs.GetHistory()[n-1].GetNote() != "" {
		text += ": " + cs.GetHistory()[n-1].GetNote()
	}
	if r := []rune(text); len(r) > maxText {
		text = string(r[:maxText]) + " …"
	}
	return text
}
