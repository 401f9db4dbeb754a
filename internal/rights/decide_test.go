package rights

import (
	"testing"

	rightsv1 "github.com/millrace/millrace/proto/gen/millrace/rights/v1"
)

func TestDecide(t *testing.T) {
	call := func(needs Role) Call { return Call{Procedure: "/p.S/M", API: "push", Needs: needs} }
	limited := func(only ...string) Caller { return Caller{Name: "alpha", Role: Service, Only: only} }
	is := func(role Role, apis ...string) Caller { return Caller{Name: "ann", Role: role, APIs: apis} }
	for name, tt := range map[string]struct {
		who  Caller
		call Call
		want Reason
	}{
		"nobody may make a call that declares nothing":  {is(Admin), call(0), Undeclared},
		"nor one of a role of a newer version":          {is(Service), call(Service + 1), Undeclared},
		"without login, only what needs none":           {Anonymous, call(Nobody), ""},
		"reading needs a login":                         {Anonymous, call(Viewer), NoLogin},
		"a caller that nothing is known of has none":    {Caller{}, call(Viewer), NoLogin},
		"a viewer reads":                                {is(Viewer), call(Viewer), ""},
		"a viewer does not change":                      {is(Viewer), call(Operator), RoleTooLow},
		"an operator does what a viewer may":            {is(Operator), call(Viewer), ""},
		"an operator does not approve":                  {is(Operator), call(Approver), RoleTooLow},
		"an approver gives no roles":                    {is(Approver), call(Admin), RoleTooLow},
		"an admin does what people may":                 {is(Admin), call(Admin), ""},
		"an admin is no service":                        {is(Admin), call(Service), RoleTooLow},
		"a service does everything":                     {is(Service), call(Service), ""},
		"another process makes the calls that are its":  {limited("/p.S/M"), call(Operator), ""},
		"and no others":                                 {limited("/p.S/N"), call(Viewer), NotItsCall},
		"nor any, where none are":                       {Caller{Name: "paths", Role: Service, Only: []string{}}, call(Service), NotItsCall},
		"not even those that people make without login": {limited("/p.S/N"), call(Nobody), NotItsCall},
		"pages that are open are open to it":            {limited("/p.S/N"), Page("/healthz", Nobody), ""},
		"other pages are not":                           {limited("/p.S/N"), Page("/metrics", Viewer), NotItsCall},
		"unless they are its":                           {limited("/metrics"), Page("/metrics", Viewer), ""},
		"what is its does not raise a role":             {Caller{Name: "ann", Role: Viewer, Only: []string{"/p.S/M"}}, call(Admin), RoleTooLow},
		"within its scope":                              {is(Operator, "circuits", "push"), call(Operator), ""},
		"out of its scope, even to read":                {is(Operator, "circuits"), call(Viewer), OutOfScope},
		"a scope does not raise a role":                 {is(Viewer, "push"), call(Operator), RoleTooLow},
		"what needs no login is in every scope":         {is(Viewer, "circuits"), call(Nobody), ""},
		"pages are of no API":                           {is(Viewer, "circuits"), Page("/metrics", Viewer), ""},
		"a role of a newer version is none of this one": {is(rightsv1.Role(99)), call(Viewer), RoleTooLow},
	} {
		t.Run(name, func(t *testing.T) {
			got := Reason("")
			if no := Decide(tt.who, tt.call); no != nil {
				got = no.Reason
				if no.Error() == "" {
					t.Error("a refusal without a reason")
				}
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestDecideBesideTheOrder compares every role with every right by the order in which people read them.
func TestDecideBesideTheOrder(t *testing.T) {
	order := []Role{Nobody, Viewer, Operator, Approver, Admin, Service}
	for has, role := range order {
		for needs, right := range order {
			if got := Decide(Caller{Name: "ann", Role: role}, Call{Procedure: "/p.S/M", Needs: right}) == nil; got != (has >= needs) {
				t.Errorf("%s calls what needs %s: allowed %v", role, right, got)
			}
		}
	}
}

func TestRolesHaveNames(t *testing.T) {
	for _, r := range Roles {
		if got, ok := Named(Name(r)); !ok || got != r {
			t.Errorf("%s by its name: %s, %v", r, got, ok)
		}
	}
	for _, name := range []string{"", "nobody", "service", "root", "VIEWER", "role_viewer"} {
		if r, ok := Named(name); ok {
			t.Errorf("%q is the role %s", name, r)
		}
	}
}

func TestWhatIsNoCallDeclaresNothing(t *testing.T) {
	for _, procedure := range []string{"", "/", "//", "/x", "/millrace.rights.v1.Right/x", "/millrace.rights.v1/x", "/a b/c", "/millrace.none.v1.S/M/"} {
		if c := Of(procedure); c.Needs != 0 || c.Procedure != procedure {
			t.Errorf("%q: %+v", procedure, c)
		}
	}
}
