package events

import (
	"regexp"
	"strings"
	"testing"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

func TestEveryKindSaysWhatItIsAndWhatToDo(t *testing.T) {
	code, seen := regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`), map[string]bool{}
	for _, k := range All() {
		switch {
		case !code.MatchString(k.Code()) || seen[k.Code()]:
			t.Errorf("code %q is not words joined by hyphens, or is used twice", k.Code())
		case !strings.HasSuffix(k.Title(), ".") || !strings.HasSuffix(k.Remedy(), "."):
			t.Errorf("%s: title %q and remedy %q must be sentences", k.Code(), k.Title(), k.Remedy())
		case k.Severity() != info && k.Remedy() == nothing:
			t.Errorf("%s: an operator who sees a warning must be told what to do", k.Code())
		}
		seen[k.Code()] = true
	}
}

func TestEveryStateOfAChangeSetHasAKind(t *testing.T) {
	for number, name := range pushv1.State_name {
		s := pushv1.State(number)
		want := "change-" + strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "STATE_")), "_", "-")
		if got := ChangeSet(s).Code(); s != pushv1.State_STATE_UNSPECIFIED && got != want {
			t.Errorf("%s: kind %q, want %q", name, got, want)
		}
	}
}
