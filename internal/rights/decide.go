package rights

import (
	"fmt"
	"slices"
	"strings"
)

// Reason of a refusal, for programs and metrics.
type Reason string

// The reasons.
const (
	Undeclared Reason = "undeclared"
	NoLogin    Reason = "no-login"
	RoleTooLow Reason = "role"
	OutOfScope Reason = "scope"
	NotItsCall Reason = "service"
)

// Refusal is the error of a call that its caller may not make.
type Refusal struct {
	Reason Reason
	text   string
}

func (r *Refusal) Error() string { return r.text }

// Decide returns nil where the caller may make the call, and else the first thing that is missing.
func Decide(who Caller, call Call) *Refusal {
	switch {
	case call.Needs < Nobody || call.Needs > Service:
		return &Refusal{Undeclared, call.Procedure + " declares no right, so nobody may call it"}
	case who.Only != nil && (call.API != "" || call.Needs != Nobody) && !slices.Contains(who.Only, call.Procedure):
		return &Refusal{NotItsCall, fmt.Sprintf("%s does not call %s", who.Name, call.Procedure)}
	case call.Needs == Nobody:
		return nil
	case who.Role <= Nobody:
		return &Refusal{NoLogin, call.Procedure + " needs a login; see `millrace login --help`"}
	case who.Role < call.Needs || who.Role > Service:
		return &Refusal{RoleTooLow, fmt.Sprintf("%s needs the role %s; %s is %s", call.Procedure, Name(call.Needs), who.Name, Name(who.Role))}
	case len(who.APIs) > 0 && call.API != "" && !slices.Contains(who.APIs, call.API):
		return &Refusal{OutOfScope, fmt.Sprintf("%s is of %s; %s may call %s only", call.Procedure, call.API, who.Name, strings.Join(who.APIs, ", "))}
	case call.Changes && call.Subject == nil && !who.Limits.None():
		return &Refusal{OutOfScope, fmt.Sprintf("%s may change what is out of every scope; %s is limited to: %s", call.Procedure, who.Name, who.Limits)}
	}
	return nil
}
