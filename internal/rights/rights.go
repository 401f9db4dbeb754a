// Package rights decides who may make which call.
//
// In: a caller, and the right that the call declares in its .proto file (option millrace.rights.v1.needs).
// Out: nothing, or why the call is refused.
// Next: internal/rpc, whose gate stands before every call on every port.
//
// Mutation testing: 141 of 142 killed (docs/reference/mutants.md).
package rights

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	rightsv1 "github.com/millrace/millrace/proto/gen/millrace/rights/v1"
)

// Role of a caller; each may do what those before it may do.
type Role = rightsv1.Role

// The roles, as docs/reference/rights.md explains them.
const (
	Nobody   = rightsv1.Role_ROLE_NOBODY
	Viewer   = rightsv1.Role_ROLE_VIEWER
	Operator = rightsv1.Role_ROLE_OPERATOR
	Approver = rightsv1.Role_ROLE_APPROVER
	Admin    = rightsv1.Role_ROLE_ADMIN
	// Service is a process of Millrace.
	Service = rightsv1.Role_ROLE_SERVICE
)

// Roles are the roles that people and programs can have, least first.
var Roles = []Role{Viewer, Operator, Approver, Admin}

// Name of a role as configuration and command line spell it.
func Name(r Role) string { return strings.ToLower(strings.TrimPrefix(r.String(), "ROLE_")) }

// Named is the role of that name, among those that people and programs can have.
func Named(name string) (Role, bool) {
	i := slices.IndexFunc(Roles, func(r Role) bool { return Name(r) == name })
	if i < 0 {
		return rightsv1.Role_ROLE_UNSPECIFIED, false
	}
	return Roles[i], true
}

// Call is one call, or one page, and the right that it needs.
type Call struct {
	// Procedure is /package.Service/Method of a call, and a path of a page.
	Procedure string
	// API is the folder of the .proto file, such as push, to which a caller can be limited; empty for a page.
	API string
	// Needs is ROLE_UNSPECIFIED where nothing is declared.
	Needs Role
	// Changes tells that it changes something.
	Changes bool
	// Streams tells that messages are streamed in either direction.
	Streams bool
	// Subject is nil where it is not declared what the call is about.
	Subject *rightsv1.Subject
}

// Page is what is served beside the calls.
func Page(path string, needs Role) Call { return Call{Procedure: path, Needs: needs} }

// Of is the call of a procedure of a service that this program knows. A procedure that it does not know declares
// nothing.
func Of(procedure string) Call {
	if m := methodOf(procedure); m != nil {
		return callOf(m)
	}
	return Call{Procedure: procedure}
}

// methodOf is nil for a procedure that this program does not know.
func methodOf(procedure string) protoreflect.MethodDescriptor {
	service, method, ok := strings.Cut(strings.TrimPrefix(procedure, "/"), "/")
	if ok && protoreflect.FullName(service).IsValid() {
		if d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service)); err == nil {
			if s, ok := d.(protoreflect.ServiceDescriptor); ok {
				return s.Methods().ByName(protoreflect.Name(method))
			}
		}
	}
	return nil
}

func callOf(m protoreflect.MethodDescriptor) Call {
	s := m.Parent().(protoreflect.ServiceDescriptor)
	c := Call{
		Procedure: "/" + string(s.FullName()) + "/" + string(m.Name()), API: apiOf(s.ParentFile().Package()),
		Streams: m.IsStreamingClient() || m.IsStreamingServer(),
	}
	if r, ok := proto.GetExtension(m.Options(), rightsv1.E_Needs).(*rightsv1.Right); ok {
		c.Needs, c.Changes, c.Subject = r.GetRole(), r.GetChanges(), r.GetSubject()
	}
	return c
}

const ours = "millrace."

// apiOf is push for millrace.push.v1.
func apiOf(pkg protoreflect.FullName) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(string(pkg), ours), ".")
	return name
}

// Calls are all calls of Millrace's services that this program knows, by procedure.
func Calls() []Call {
	var out []Call
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(f.Package()), ours) {
			return true
		}
		for i := range f.Services().Len() {
			for j := range f.Services().Get(i).Methods().Len() {
				out = append(out, callOf(f.Services().Get(i).Methods().Get(j)))
			}
		}
		return true
	})
	slices.SortFunc(out, func(a, b Call) int { return cmp.Compare(a.Procedure, b.Procedure) })
	return out
}
