package rights

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// May is what can be said of a call before its request is known: nil, or why each request of it is refused. judged
// tells that the request is judged, too, by what it is about.
func May(who Caller, call Call) (no *Refusal, judged bool) {
	if no := Decide(who, call); no != nil {
		return no, false
	}
	if who.Limits.None() || !Judged(call) {
		return nil, false
	}
	for _, k := range kinds {
		paths := k.paths(call.Subject)
		switch {
		case slices.Contains(paths, anything) && !who.Limits.within(call.Needs, thing{kind: k}):
			return &Refusal{OutOfScope, fmt.Sprintf("%s is about every %s; %s is limited to: %s", call.Procedure, k.one, who.Name, who.Limits)}, false
		case slices.ContainsFunc(paths, call.names) && !who.Limits.some(call.Needs, k):
			return &Refusal{OutOfScope, fmt.Sprintf("%s is about a %s; %s is limited to: %s", call.Procedure, k.one, who.Name, who.Limits)}, false
		}
	}
	return nil, true
}

// Judged reports whether the request of a call is judged by what it is about, where its caller has limits.
func Judged(call Call) bool {
	return call.Changes && call.Needs > Nobody && !call.Subject.GetOwn()
}

// names reports whether each request of a call names something at a path: in a text of its own, which is neither in a
// list nor in a part that may be left out.
func (c Call) names(path string) bool {
	m := methodOf(c.Procedure)
	if m == nil {
		return false
	}
	f := m.Input().Fields().ByName(protoreflect.Name(path))
	return f != nil && f.Kind() == protoreflect.StringKind && !f.IsList()
}

// some reports whether a role that a call needs holds for anything of a kind.
func (l Limits) some(needs Role, k kind) bool {
	of := func(s Scope) bool { return s.All() || len(k.in(s)) > 0 }
	granted := len(l.Grants) == 0 || slices.ContainsFunc(l.Grants, func(g Grant) bool { return g.Role >= needs && of(g.Scope) })
	return granted && of(l.Scope)
}
