package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	rightsv1 "github.com/millrace/millrace/proto/gen/millrace/rights/v1"
)

func methodOf(t *testing.T, c rights.Call) protoreflect.MethodDescriptor {
	t.Helper()
	service, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(path.Dir(c.Procedure)[1:]))
	if err != nil {
		t.Fatal(err)
	}
	return service.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(path.Base(c.Procedure)))
}

// fieldsAt are the fields on a path; the last one is a text.
func fieldsAt(in protoreflect.MessageDescriptor, at string) ([]protoreflect.FieldDescriptor, error) {
	var out []protoreflect.FieldDescriptor
	for _, name := range strings.Split(at, ".") {
		if in == nil {
			return nil, fmt.Errorf("%s goes on behind a field that is no message", at)
		}
		f := in.Fields().ByName(protoreflect.Name(name))
		if f == nil || f.IsMap() {
			return nil, fmt.Errorf("%s has no field %s of %s", in.FullName(), name, at)
		}
		out, in = append(out, f), f.Message()
	}
	if out[len(out)-1].Kind() != protoreflect.StringKind {
		return nil, fmt.Errorf("%s is no text", at)
	}
	return out, nil
}

// put writes a name at a path, into the one element of each list on it.
func put(m protoreflect.Message, fields []protoreflect.FieldDescriptor, name string) {
	f := fields[0]
	switch {
	case len(fields) == 1 && f.IsList():
		m.Mutable(f).List().Append(protoreflect.ValueOfString(name))
	case len(fields) == 1:
		m.Set(f, protoreflect.ValueOfString(name))
	case f.IsList():
		if m.Mutable(f).List().Len() == 0 {
			m.Mutable(f).List().AppendMutable()
		}
		put(m.Mutable(f).List().Get(0).Message(), fields[1:], name)
	default:
		put(m.Mutable(f).Message(), fields[1:], name)
	}
}

// What a call says that it is about must be there.
func TestSubjectsAreFields(t *testing.T) {
	for _, c := range rights.Calls() {
		m, s := methodOf(t, c), c.Subject
		if s == nil {
			continue
		}
		if !c.Changes && (s.GetRecord() || len(s.GetRouters())+len(s.GetVpns())+len(s.GetPolicies()) > 0) || c.Changes && len(s.GetLists()) > 0 {
			t.Errorf("%s: requests are judged where they change something, and answers are filtered where they do not", c.Procedure)
		}
		for _, at := range slices.Concat(s.GetRouters(), s.GetVpns(), s.GetPolicies()) {
			if _, err := fieldsAt(m.Input(), at); at != "*" && err != nil {
				t.Errorf("%s: %v", c.Procedure, err)
			}
		}
		for _, l := range s.GetLists() {
			f := m.Output().Fields().ByName(protoreflect.Name(l.GetList()))
			if f == nil || !f.IsList() || len(l.GetRouters())+len(l.GetVpns()) == 0 {
				t.Errorf("%s: %s is no list of the answer, or names nothing", c.Procedure, l.GetList())
				continue
			}
			for _, at := range slices.Concat(l.GetRouters(), l.GetVpns()) {
				if _, err := fieldsAt(f.Message(), at); err != nil && (at != "." || f.Kind() != protoreflect.StringKind) {
					t.Errorf("%s: %s: %v", c.Procedure, l.GetList(), err)
				}
			}
		}
	}
}

// Names within and out of the scope of these tests.
const inside, outside = "edge-1", "core-1"

var edgeScope = rights.Scope{Routers: []string{"edge-*"}, VPNs: []string{"edge-*"}, Policies: []string{"edge-*"}}

// scoped says who sends a request: a role and a place where the scope is, joined by @.
func scoped(r *http.Request) (rights.Caller, error) {
	name, by, _ := strings.Cut(r.Header.Get(roleHeader), "@")
	role, ok := rights.Named(name)
	if !ok {
		return rights.Caller{}, connect.NewError(connect.CodeUnauthenticated, errors.New("no such role"))
	}
	who := rights.Caller{Name: "ann", Role: role, Credential: "c", Session: true}
	switch by {
	case "person":
		who.Limits.Grants = []rights.Grant{{Role: role, Scope: edgeScope}}
	case "token":
		who.Limits.Scope = edgeScope
	case "routers":
		who.Limits.Scope = rights.Scope{Routers: edgeScope.Routers}
	case "api":
		who.APIs = []string{"push"}
	}
	return who, nil
}

// idOf is the field of a request that names its record; nil where none does.
func idOf(m protoreflect.MessageDescriptor) []protoreflect.FieldDescriptor {
	for _, at := range []string{"id", "pair", "batch.batch_id"} {
		if fields, err := fieldsAt(m, at); err == nil {
			return fields
		}
	}
	return nil
}

// written is the record that the requests of these tests name: its id is that of the router that it touches. What names
// none is about all routers.
func written(_ context.Context, _ string, request proto.Message) (rights.Things, error) {
	m := request.ProtoReflect()
	fields := idOf(m.Descriptor())
	if fields == nil {
		return rights.Things{Routers: []string{""}}, nil
	}
	for _, f := range fields[:len(fields)-1] {
		m = m.Get(f).Message()
	}
	return rights.Things{Routers: []string{m.Get(fields[len(fields)-1]).String()}}, nil
}

// answeringInFull serves a call behind a gate and the interceptor of every service. Each list that is filtered has one
// element within the scope, and one that is not.
func answeringInFull(t *testing.T, c rights.Call, refused *int) http.Handler {
	t.Helper()
	m := methodOf(t, c)
	options := []connect.HandlerOption{
		connect.WithSchema(m), rpc.Bounded(rpc.MaxRequest, written),
		connect.WithRequestInitializer(func(_ connect.Spec, into any) error {
			into.(*dynamicpb.Message).Reset()
			*into.(*dynamicpb.Message) = *dynamicpb.NewMessage(m.Input())
			return nil
		}),
	}
	answer := dynamicpb.NewMessage(m.Output())
	for _, l := range c.Subject.GetLists() {
		fill(t, answer, l)
	}
	var h http.Handler = connect.NewUnaryHandler(c.Procedure, func(context.Context, *connect.Request[dynamicpb.Message]) (*connect.Response[dynamicpb.Message], error) {
		return connect.NewResponse(proto.Clone(answer).(*dynamicpb.Message)), nil
	}, options...)
	if c.Streams {
		h = connect.NewServerStreamHandler(c.Procedure, func(context.Context, *connect.Request[dynamicpb.Message], *connect.ServerStream[dynamicpb.Message]) error {
			return nil
		}, options...)
	}
	return rpc.Gate{Who: scoped, Refused: func(reason string) {
		if reason == string(rights.OutOfScope) {
			*refused++
		}
	}}.Wrap(nil, h)
}

func fill(t *testing.T, answer protoreflect.Message, l *rightsv1.Listed) {
	t.Helper()
	f := answer.Descriptor().Fields().ByName(protoreflect.Name(l.GetList()))
	paths := slices.Concat(l.GetRouters(), l.GetVpns())
	for _, name := range []string{inside, outside} {
		if paths[0] == "." {
			answer.Mutable(f).List().Append(protoreflect.ValueOfString(name))
			continue
		}
		element := answer.Mutable(f).List().AppendMutable().Message()
		for _, at := range paths {
			fields, err := fieldsAt(f.Message(), at)
			if err != nil {
				t.Fatal(err)
			}
			put(element, fields, name)
		}
	}
}

// requestAbout names something in each field by which a call is judged.
func requestAbout(t *testing.T, c rights.Call, name string) *dynamicpb.Message {
	t.Helper()
	m := methodOf(t, c)
	out := dynamicpb.NewMessage(m.Input())
	for _, at := range slices.Concat(c.Subject.GetRouters(), c.Subject.GetVpns(), c.Subject.GetPolicies()) {
		if at == "*" {
			continue
		}
		fields, err := fieldsAt(m.Input(), at)
		if err != nil {
			t.Fatal(err)
		}
		put(out, fields, name)
	}
	if id := idOf(m.Input()); c.Subject.GetRecord() && id != nil {
		put(out, id, name)
	}
	return out
}

// expectedWithin is the code by what the call declares.
func expectedWithin(role string, c rights.Call, name string) connect.Code {
	if code := expected(role, c); code != 0 {
		return code
	}
	s := c.Subject
	all := slices.Contains(slices.Concat(s.GetRouters(), s.GetVpns(), s.GetPolicies()), "*")
	if c.Changes && c.Needs > rights.Nobody && !s.GetOwn() && (s == nil || all || name != inside) {
		return connect.CodePermissionDenied
	}
	return 0
}

// TestScopedRolesAndCalls makes every call with every role that is limited to a scope, of a person and of a token,
// about what is within it and what is not.
func TestScopedRolesAndCalls(t *testing.T) {
	tried, refused := 0, 0
	for _, c := range rights.Calls() {
		if c.Needs == rights.Service {
			continue
		}
		server := httptest.NewServer(answeringInFull(t, c, &refused))
		for _, role := range []string{"viewer", "operator", "approver", "admin"} {
			for _, of := range []string{"person", "token"} {
				for _, name := range []string{inside, outside, ""} {
					tried++
					tryScoped(t, &http.Client{Transport: as{role + "@" + of, server.Client().Transport}}, server.URL, c, role, name, &refused)
				}
			}
		}
		server.Close()
	}
	fmt.Printf("calls × roles with a scope: %d tried\n", tried)
	if tried == 0 || refused == 0 {
		t.Errorf("%d tried, %d refused as out of scope", tried, refused)
	}
}

func tryScoped(t *testing.T, sender *http.Client, url string, c rights.Call, role, name string, refused *int) {
	t.Helper()
	before := *refused
	answer, header, err := askScoped(t, sender, url, c, name)
	want := expectedWithin(role, c, name)
	if got := codeIn(err); got != want {
		t.Errorf("%s as %s about %q: %v, want %v", c.Procedure, role, name, err, want)
	}
	if counted := *refused - before; (counted == 1) != (want != 0 && expected(role, c) == 0) {
		t.Errorf("%s as %s about %q: %d refusals counted as out of scope", c.Procedure, role, name, counted)
	}
	if err != nil {
		return
	}
	reads := !c.Changes && c.Needs > rights.Nobody && !c.Subject.GetOwn()
	if told := header.Get(rpc.WholeHeader) != ""; told != (reads && len(c.Subject.GetLists()) == 0) {
		t.Errorf("%s as %s: told that the answer is whole: %v", c.Procedure, role, told)
	}
	for _, l := range c.Subject.GetLists() {
		if list := answer.Get(answer.Descriptor().Fields().ByName(protoreflect.Name(l.GetList()))).List(); list.Len() != 1 {
			t.Errorf("%s as %s: %d elements of %s, want the one within the scope", c.Procedure, role, list.Len(), l.GetList())
		}
	}
}

func askScoped(t *testing.T, sender *http.Client, url string, c rights.Call, name string) (*dynamicpb.Message, http.Header, error) {
	t.Helper()
	m := methodOf(t, c)
	client := connect.NewClient[dynamicpb.Message, dynamicpb.Message](sender, url+c.Procedure, connect.WithSchema(m),
		connect.WithResponseInitializer(func(_ connect.Spec, into any) error {
			*into.(*dynamicpb.Message) = *dynamicpb.NewMessage(m.Output())
			return nil
		}))
	request := connect.NewRequest(requestAbout(t, c, name))
	if !c.Streams {
		answer, err := client.CallUnary(t.Context(), request)
		if err != nil {
			return nil, nil, err
		}
		return answer.Msg, answer.Header(), nil
	}
	s, err := client.CallServerStream(t.Context(), request)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	for s.Receive() {
	}
	return nil, s.ResponseHeader(), s.Err()
}
