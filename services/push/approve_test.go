package push

import (
	"strings"
	"testing"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// A change set that a guard held up goes on without a person as soon as it may, also after a restart.
func TestAChangeSetThatNeedsNobodyGoesOnWhenItMay(t *testing.T) {
	w := newWorld(t)
	w.command([]string{"approval", "auto"})
	must(t, w.command([]string{"freeze"}), "")
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"await", "approved"}), "approved")
	w.command([]string{"restart"})
	must(t, w.command([]string{"unfreeze"}), "")
	if err := w.push.takeUpAll(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	must(t, w.command([]string{"await", "verified"}), "verified")
}

// A change set from before there were rules must not become one that needs no approval.
func TestAChangeSetWithoutARuleNeedsOnePerson(t *testing.T) {
	if got := ruleOf(&pushv1.ChangeSet{}); got.Persons != 1 {
		t.Errorf("it needs %d persons", got.Persons)
	}
	if goesByItself(&pushv1.ChangeSet{State: pushv1.State_STATE_PLANNED}) {
		t.Error("it goes by itself")
	}
}

func TestApprovalRulesOfTheConfiguration(t *testing.T) {
	cfg := DefaultConfiguration()
	cfg.ApprovalOf = map[string]Approval{"lbe": {Rule: "auto"}, "core": {Rule: "two", OtherThanAuthor: true}}
	for policy, want := range map[string]int{"hntes-two-queue": 1, "lbe": 0, "core": 2} {
		if got := cfg.approvalOf(policy); got.Persons != want || got.NotAuthor != (policy == "core") {
			t.Errorf("%s: %+v, want %d persons", policy, got, want)
		}
	}
	for text, a := range map[string]Approval{"approval_of.lbe.rule is": {Rule: "three"}, "leave out other_than_author": {Rule: "auto", OtherThanAuthor: true}} {
		cfg.ApprovalOf = map[string]Approval{"lbe": a}
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v, want %q", a, err, text)
		}
	}
}
