package push

import (
	"fmt"
	"strings"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// A record is one value in etcd, which takes 1.5 MiB per request. Texts in it come from routers, policies and other
// services, so they may have any length and there may be any number: one that does not fit could never be recorded, and
// a run that cannot record what happened never ends.
const (
	maxDeviceTexts = 384 << 10 // errors and checks of all routers
	maxNotes       = 128 << 10 // notes of the change set
	maxHistory     = 128 << 10 // notes of its history
	maxPairBytes   = 256 << 10
	maxCircuits    = 192 << 10 // ids of the circuits it puts on routers, of which none can be left out
	maxRefused     = 48 << 10
	maxBecause     = 8 << 10  // reasons why a person approves
	maxAssumed     = 16 << 10 // assumptions of its prediction
	maxApproval    = 1 << 10  // note of an approval, which the history has, too
	maxText        = 4 << 10  // any other one of them
	minText        = 64
)

// fit cuts the texts of a record. What it cuts it replaces, so that a message that others read stays as it is.
func fit(m *pushv1.ChangeSet) *pushv1.ChangeSet {
	out := shallow(m, "devices", "notes", "history", "pairs", "refused_circuits", "approvals", "approval_rule", "prediction")
	each := min(max(maxDeviceTexts/2/max(len(m.GetDevices()), 1), minText), maxText)
	for _, d := range m.GetDevices() {
		short := shallow(d, "error", "checks")
		short.Error, short.Checks = cutText(d.GetError(), each), fitLines(d.GetChecks(), each)
		out.Devices = append(out.Devices, short)
	}
	out.Notes = fitLines(m.GetNotes(), maxNotes)
	out.Pairs = fitLines(m.GetPairs(), maxPairBytes)
	out.RefusedCircuits = fitRefused(m.GetRefusedCircuits())
	each = min(max(maxHistory/max(len(m.GetHistory()), 1), minText), maxText)
	for _, t := range m.GetHistory() {
		short := shallow(t, "by", "note")
		short.By, short.Note = cutText(t.GetBy(), each), cutText(t.GetNote(), each)
		out.History = append(out.History, short)
	}
	for _, a := range m.GetApprovals() {
		short := shallow(a, "by", "note")
		short.By, short.Note = cutText(a.GetBy(), maxText), cutText(a.GetNote(), maxApproval)
		out.Approvals = append(out.Approvals, short)
	}
	if rule := m.GetApprovalRule(); rule != nil {
		out.ApprovalRule = shallow(rule, "because")
		out.ApprovalRule.Because = fitLines(rule.GetBecause(), maxBecause)
	}
	if p := m.GetPrediction(); p != nil {
		out.Prediction = shallow(p, "assumptions")
		out.Prediction.Assumptions = fitLines(p.GetAssumptions(), maxAssumed)
	}
	out.Title, out.Reason, out.Author = cutText(m.GetTitle(), maxText), cutText(m.GetReason(), maxText), cutText(m.GetAuthor(), maxText)
	return out
}

// fitRefused keeps the first circuits that fit, each with the start of its reason. The notes have their
// total.
func fitRefused(list []*policyv1.RefusedCircuit) (out []*policyv1.RefusedCircuit) {
	const framing = 12
	total := 0
	for _, c := range list {
		short := &policyv1.RefusedCircuit{Circuit: cutText(c.GetCircuit(), maxText), Reason: cutText(c.GetReason(), maxText)}
		if total += len(short.Circuit) + len(short.Reason) + framing; total > maxRefused {
			break
		}
		out = append(out, short)
	}
	return out
}

// tooManyCircuits returns the reason why a record cannot name these circuits, empty if it can.
func tooManyCircuits(ids []string) string {
	const framing = 4
	total := 0
	for _, id := range ids {
		total += len(id) + framing
	}
	if total <= maxCircuits {
		return ""
	}
	return fmt.Sprintf("it puts %d circuits on routers, more than a change set can name", len(ids))
}

// fitLines keeps the first lines that fit into so many octets together, and counts the others. What it returns fits.
func fitLines(lines []string, most int) (out []string) {
	const framing, counted = 4, 40
	total, fits := 0, 0
	for _, line := range lines {
		line = cutText(line, min(maxText, most/2))
		if total += len(line) + framing; total <= most-counted {
			fits++
		}
		out = append(out, line)
	}
	if total <= most {
		return out
	}
	return append(out[:fits], fmt.Sprintf("%d more are left out", len(lines)-fits))
}

// cutText keeps the start of a text and notes that there was more. A text that it has cut fits.
func cutText(text string, most int) string {
	const more = " …"
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(more)], "") + more
}
