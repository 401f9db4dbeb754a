package rights

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	rightsv1 "github.com/millrace/millrace/proto/gen/millrace/rights/v1"
)

// Scope is some routers, VPNs and policies, by patterns such as edge-*. A kind without patterns is nothing of that
// kind; a scope without any is everything.
type Scope struct {
	// Routers are patterns of names of the inventory.
	Routers []string `yaml:"routers"`
	// VPNs are patterns of names of VPNs.
	VPNs []string `yaml:"vpns"`
	// Policies are patterns of names of policies.
	Policies []string `yaml:"policies"`
}

// Grant is a role for a scope.
type Grant struct {
	Role  Role
	Scope Scope
}

// Limits of a caller. What a call is about must be within a grant of the role that the call needs, and within Scope,
// which is the token's. Several routers may be within a grant each, which then has the policy and the VPN, too.
type Limits struct {
	// Grants: where there are none, the role holds everywhere.
	Grants []Grant
	Scope  Scope
}

// Things are what a call is about, by their names. An empty name stands for all of the kind.
type Things struct{ Routers, VPNs, Policies []string }

// kind is routers, VPNs or policies.
type kind struct {
	one   string
	in    func(Scope) []string
	named func(Things) []string
	paths func(*rightsv1.Subject) []string
}

var kinds = []kind{
	{"router", func(s Scope) []string { return s.Routers }, func(t Things) []string { return t.Routers }, (*rightsv1.Subject).GetRouters},
	{"vpn", func(s Scope) []string { return s.VPNs }, func(t Things) []string { return t.VPNs }, (*rightsv1.Subject).GetVpns},
	{"policy", func(s Scope) []string { return s.Policies }, func(t Things) []string { return t.Policies }, (*rightsv1.Subject).GetPolicies},
}

// thing is one of a kind; without a name it is all of the kind.
type thing struct {
	kind
	name string
}

func (t thing) String() string {
	if t.name == "" {
		return "every " + t.one
	}
	return t.one + " " + t.name
}

// All reports whether nothing is out of a scope.
func (s Scope) All() bool { return len(s.Routers)+len(s.VPNs)+len(s.Policies) == 0 }

// has reports whether a thing is within. An empty name is all of the kind, which only * is.
func (s Scope) has(k kind, name string) bool {
	return s.All() || slices.ContainsFunc(k.in(s), func(pattern string) bool {
		match, err := path.Match(pattern, name)
		return pattern == everything || err == nil && match && name != ""
	})
}

// hasAll reports whether each of the things is within.
func (s Scope) hasAll(things []thing) bool {
	return !slices.ContainsFunc(things, func(t thing) bool { return !s.has(t.kind, t.name) })
}

const everything = "*"

// maxPatterns and maxPattern, in characters, bound what is looked through for each name.
const maxPatterns, maxPattern = 100, 200

// Check says what is wrong with a scope that somebody wrote.
func (s Scope) Check() error {
	n := 0
	for _, k := range kinds {
		n += len(k.in(s))
		for _, pattern := range k.in(s) {
			if _, err := path.Match(pattern, ""); err != nil || pattern == "" || len([]rune(pattern)) > maxPattern {
				return fmt.Errorf("%s=%q is no pattern of names; write one such as edge-*, where * is any text and ? one character", k.one, pattern)
			}
		}
	}
	if n > maxPatterns {
		return fmt.Errorf("a scope has at most %d patterns, not %d", maxPatterns, n)
	}
	return nil
}

// String is a scope as commands spell it, such as router=edge-* policy=te.
func (s Scope) String() string {
	var out []string
	for _, k := range kinds {
		for _, pattern := range k.in(s) {
			out = append(out, k.one+"="+pattern)
		}
	}
	if len(out) == 0 {
		return "everything"
	}
	return strings.Join(out, " ")
}

// ParseScope reads router=edge-*, vpn=blue and policy=te, each of which may come several times.
func ParseScope(texts []string) (Scope, error) {
	var s Scope
	for _, text := range texts {
		one, pattern, _ := strings.Cut(text, "=")
		switch one {
		case "router":
			s.Routers = append(s.Routers, pattern)
		case "vpn":
			s.VPNs = append(s.VPNs, pattern)
		case "policy":
			s.Policies = append(s.Policies, pattern)
		default:
			return Scope{}, fmt.Errorf("%q is no scope; write router=PATTERN, vpn=PATTERN or policy=PATTERN", text)
		}
	}
	return s, s.Check()
}

// None reports whether the role holds everywhere.
func (l Limits) None() bool { return len(l.Grants) == 0 && l.Scope.All() }

// String is what a login is limited to, such as approver for router=edge-*; empty: nothing.
func (l Limits) String() string {
	var out []string
	for _, g := range l.Grants {
		out = append(out, Name(g.Role)+" for "+g.Scope.String())
	}
	text := strings.Join(out, ", ")
	if !l.Scope.All() {
		text = strings.TrimPrefix(text+", its token for "+l.Scope.String(), ", ")
	}
	return text
}

// GrantsOf are those of somebody who has each of these: none, where the highest role holds everywhere.
func GrantsOf(all []Grant) (role Role, limits []Grant) {
	for _, g := range all {
		role = max(role, g.Role)
	}
	if slices.ContainsFunc(all, func(g Grant) bool { return g.Role == role && g.Scope.All() }) {
		return role, nil
	}
	return role, all
}

// within reports whether a role that a call needs holds for things together: one grant has them all.
func (l Limits) within(needs Role, things ...thing) bool {
	granted := len(l.Grants) == 0 || slices.ContainsFunc(l.Grants, func(g Grant) bool { return g.Role >= needs && g.Scope.hasAll(things) })
	return granted && l.Scope.hasAll(things)
}

// errAdmin: an admin gives roles, and so could take a limit away.
var errAdmin = errors.New("the role admin has no scope: an admin gives roles, the own one too")

// CheckGrant says what is wrong with a role for a scope.
func CheckGrant(g Grant) error {
	if g.Role == Admin && !g.Scope.All() {
		return errAdmin
	}
	return g.Scope.Check()
}

// Within returns nil where all that a call is about is within the limits of its caller, and else the first thing that
// is not. Of several grants each is a role for its own scope: a policy of one does not go to the routers of another.
func Within(who Caller, call Call, about Things) *Refusal {
	for _, things := range combined(about) {
		if who.Limits.within(call.Needs, things...) {
			continue
		}
		if i := slices.IndexFunc(things, func(t thing) bool { return !who.Limits.within(call.Needs, t) }); i >= 0 {
			things = things[i : i+1]
		}
		var names []string
		for _, t := range things {
			names = append(names, t.String())
		}
		return &Refusal{OutOfScope, fmt.Sprintf("%s is about %s; %s is limited to: %s", call.Procedure, strings.Join(names, " and "), who.Name, who.Limits)}
	}
	return nil
}

// combined are the things of a call, one of each kind that it names, in every way.
func combined(about Things) (out [][]thing) {
	for _, k := range kinds {
		var more [][]thing
		for _, name := range k.named(about) {
			if len(out) == 0 {
				more = append(more, []thing{{k, name}})
			}
			for _, before := range out {
				more = append(more, append(slices.Clip(before), thing{k, name}))
			}
		}
		if len(more) > 0 {
			out = more
		}
	}
	return out
}

// ScopeOf and ScopeMessage are a scope between processes and in records.
func ScopeOf(m *rightsv1.Scope) Scope {
	return Scope{Routers: m.GetRouters(), VPNs: m.GetVpns(), Policies: m.GetPolicies()}
}

// ScopeMessage is nil for everything.
func ScopeMessage(s Scope) *rightsv1.Scope {
	if s.All() {
		return nil
	}
	return &rightsv1.Scope{Routers: s.Routers, Vpns: s.VPNs, Policies: s.Policies}
}

// GrantsFrom reads grants of a record.
func GrantsFrom(all []*rightsv1.Grant) (out []Grant) {
	for _, g := range all {
		out = append(out, Grant{g.GetRole(), ScopeOf(g.GetScope())})
	}
	return out
}

// GrantMessages are grants for a record.
func GrantMessages(all []Grant) (out []*rightsv1.Grant) {
	for _, g := range all {
		out = append(out, &rightsv1.Grant{Role: g.Role, Scope: ScopeMessage(g.Scope)})
	}
	return out
}

// LimitsOf reads limits of a message.
func LimitsOf(m *rightsv1.Limits) Limits {
	return Limits{Grants: GrantsFrom(m.GetGrants()), Scope: ScopeOf(m.GetScope())}
}

// LimitsMessage is nil where there are none.
func LimitsMessage(l Limits) *rightsv1.Limits {
	if l.None() {
		return nil
	}
	return &rightsv1.Limits{Grants: GrantMessages(l.Grants), Scope: ScopeMessage(l.Scope)}
}
