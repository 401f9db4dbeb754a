package rest

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// What is over Connect and gRPC only is known: a stream.
func TestCallsWithoutARoute(t *testing.T) {
	methods := circuitsv1.File_millrace_circuits_v1_circuits_proto.Services().ByName("CircuitsService").Methods()
	var without []string
	for i := range methods.Len() {
		name := string(methods.Get(i).Name())
		if !slices.ContainsFunc(routes, func(r route) bool { return r.name == name }) {
			without = append(without, name)
		}
	}
	if !slices.Equal(without, []string{"Watch"}) {
		t.Errorf("without a route: %v", without)
	}
}

// call is a service of one call with an option; its request has a text id, texts tags, a number size of 64 bits and a
// time at.
func call(t *testing.T, name string, rule *annotations.HttpRule, change func(*descriptorpb.MethodDescriptorProto)) protoreflect.ServiceDescriptor {
	t.Helper()
	options := &descriptorpb.MethodOptions{}
	if rule != nil {
		proto.SetExtension(options, annotations.E_Http, rule)
	}
	field := func(n int32, name string, kind descriptorpb.FieldDescriptorProto_Type, label descriptorpb.FieldDescriptorProto_Label) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{Name: &name, Number: &n, Type: &kind, Label: &label}
	}
	text, one := descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
	at := field(3, "at", descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, one)
	at.TypeName = proto.String(".google.protobuf.Timestamp")
	method := &descriptorpb.MethodDescriptorProto{Name: &name, InputType: proto.String(".x.Small"), OutputType: proto.String(".x.Small"), Options: options}
	if change != nil {
		change(method)
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("x.proto"), Package: proto.String("x"), Syntax: proto.String("proto3"), Dependency: []string{"google/protobuf/timestamp.proto"},
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String("Small"), Field: []*descriptorpb.FieldDescriptorProto{field(1, "id", text, one), field(2, "tags", text, descriptorpb.FieldDescriptorProto_LABEL_REPEATED), at}},
			{Name: proto.String("Large"), Field: []*descriptorpb.FieldDescriptorProto{field(1, "id", text, one), field(2, "size", descriptorpb.FieldDescriptorProto_TYPE_INT64, one)}},
		},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("S"), Method: []*descriptorpb.MethodDescriptorProto{method}}},
	}, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	return file.Services().Get(0)
}

func get(path string) *annotations.HttpRule {
	return &annotations.HttpRule{Pattern: &annotations.HttpRule_Get{Get: path}}
}

func post(path, body string) *annotations.HttpRule {
	return &annotations.HttpRule{Pattern: &annotations.HttpRule_Post{Post: path}, Body: body}
}

func TestBindingsAreWhatTheOptionsSay(t *testing.T) {
	for name, c := range map[string]struct {
		rule *annotations.HttpRule
		want binding
		has  bool
	}{
		"no option":           {nil, binding{}, false},
		"a query":             {get("/v1/x"), binding{"GET", "/v1/x", false}, true},
		"a query with a path": {get("/v1/x/{id}/y"), binding{"GET", "/v1/x/{id}/y", false}, true},
		"a body":              {post("/v1/x/{id}", "*"), binding{"POST", "/v1/x/{id}", true}, true},
		"a change":            {&annotations.HttpRule{Pattern: &annotations.HttpRule_Patch{Patch: "/v1/x"}, Body: "*"}, binding{"PATCH", "/v1/x", true}, true},
	} {
		got, has, err := bindingOf(call(t, "Do", c.rule, nil).Methods().Get(0))
		if err != nil || has != c.has || got != c.want {
			t.Errorf("%s: %+v, %t, %v", name, got, has, err)
		}
	}
	b := binding{path: "/v1/x/{id}/y/{tag}"}
	if v := b.variables(); !slices.Equal(v, []string{"id", "tag"}) {
		t.Errorf("variables: %v", v)
	}
}

// An option that would be served otherwise than it says is refused.
func TestBindingsThatAreNotServed(t *testing.T) {
	stream := func(m *descriptorpb.MethodDescriptorProto) { m.ServerStreaming = proto.Bool(true) }
	upload := func(m *descriptorpb.MethodDescriptorProto) { m.ClientStreaming = proto.Bool(true) }
	large := func(m *descriptorpb.MethodDescriptorProto) { m.InputType = proto.String(".x.Large") }
	more, part, selected := get("/v1/x"), get("/v1/x"), get("/v1/x")
	more.AdditionalBindings, part.ResponseBody, selected.Selector = []*annotations.HttpRule{get("/v1/y")}, "id", "x.S.Do"
	read := get("/v1/x")
	read.Body = "*"
	for name, c := range map[string]struct {
		rule   *annotations.HttpRule
		change func(*descriptorpb.MethodDescriptorProto)
		why    string
	}{
		"no pattern":             {&annotations.HttpRule{}, nil, "get, post or patch"},
		"another method":         {&annotations.HttpRule{Pattern: &annotations.HttpRule_Delete{Delete: "/v1/x"}}, nil, "get, post or patch"},
		"two paths":              {more, nil, "additional_bindings"},
		"a part of the answer":   {part, nil, "response_body"},
		"another call":           {selected, nil, "selector"},
		"a part of the request":  {post("/v1/x", "id"), nil, `not "id"`},
		"a post of a query":      {post("/v1/x", ""), nil, `not ""`},
		"a read with a body":     {read, nil, `not "*"`},
		"a body of a read":       {&annotations.HttpRule{Pattern: &annotations.HttpRule_Get{Get: "/v1/x"}, Body: "id"}, nil, `not "id"`},
		"a stream":               {get("/v1/x"), stream, "stream"},
		"a stream of requests":   {post("/v1/x", "*"), upload, "stream"},
		"elsewhere":              {get("/x"), nil, "not below"},
		"a field there isn't":    {get("/v1/{name}"), nil, `"{name}"`},
		"a list":                 {get("/v1/{tags}"), nil, `"{tags}"`},
		"a time":                 {get("/v1/{at}"), nil, `"{at}"`},
		"a variable not closed":  {get("/v1/{id"), nil, `"{id"`},
		"a variable of segments": {get("/v1/{id=**}"), nil, `"{id=**}"`},
		"any segment":            {get("/v1/*"), nil, `"*"`},
		"a verb":                 {get("/v1/x:do"), nil, `"x:do"`},
		"nothing between":        {get("/v1/x//y"), nil, `""`},
		"a query of 64 bits":     {get("/v1/x"), large, "size"},
	} {
		b, has, err := bindingOf(call(t, "Do", c.rule, c.change).Methods().Get(0))
		if err == nil || has || !strings.Contains(err.Error(), c.why) || !strings.HasPrefix(err.Error(), "Do: ") {
			t.Errorf("%s: %+v, %t, %v", name, b, has, err)
		}
	}
}

// A call has an option and a row, or neither; a row of no call would be forgotten.
func TestOptionsAndRowsBelongTogether(t *testing.T) {
	one := map[string]row{"Do": {status: 200}}
	for name, c := range map[string]struct {
		rule *annotations.HttpRule
		rows map[string]row
		n    int
		why  string
	}{
		"both":                 {get("/v1/x"), one, 1, ""},
		"neither":              {nil, nil, 0, ""},
		"an option":            {get("/v1/x"), nil, 0, "row: false"},
		"a row":                {nil, one, 0, "option google.api.http: false"},
		"a row of no call":     {get("/v1/x"), map[string]row{"Do": {}, "Undo": {}}, 0, "1 of 2"},
		"what is not served":   {get("/x"), one, 0, "not below"},
		"only rows of no call": {nil, map[string]row{"Undo": {}}, 0, "0 of 1"},
	} {
		got, err := routesOf(call(t, "Do", c.rule, nil), c.rows)
		if len(got) != c.n || (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
