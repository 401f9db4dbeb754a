package rights

import (
	"context"
	"regexp"
)

// Caller is who makes a call.
type Caller struct {
	// Name is what records call it: a person, also where a token of that person is shown, or a service.
	Name string
	Role Role
	// APIs limits it to calls of these, where there are any.
	APIs []string
	// Only limits it to these procedures and pages, where it is not nil: a service of another process makes the
	// calls that it was written to make.
	Only []string
	// Credential is the id of the session or token that was shown.
	Credential string
	// Session tells that it is a session's, which a person began, and not a token's, which a program may have lost.
	Session bool
	// Limits are the routers, VPNs and policies that the role is limited to.
	Limits Limits
}

// personName may be part of a key of etcd: it is a name, or an address of e-mail.
var personName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$`)

// IsName reports whether a person can be called so.
func IsName(s string) bool { return personName.MatchString(s) }

// LoggedName is a name as logs have it. Other text in its place may be a password in the wrong field, or megabytes.
func LoggedName(s string) string {
	if !IsName(s) {
		return "(not a name)"
	}
	return s
}

// Anonymous has no login.
var Anonymous = Caller{Role: Nobody}

type callerKey struct{}

// With tells those who handle a call who makes it.
func With(ctx context.Context, who Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, who)
}

// From is who makes a call, where the port that it came to asked.
func From(ctx context.Context) (Caller, bool) {
	who, ok := ctx.Value(callerKey{}).(Caller)
	return who, ok
}
