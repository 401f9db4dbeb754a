package rest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// object is a JSON object; encoding/json writes its keys in order.
type object = map[string]any

// OpenAPI is the OpenAPI 3.1 document of all routes.
func OpenAPI() []byte {
	s := schemas{}
	paths := object{}
	for _, r := range routes {
		at, _ := paths[r.path].(object)
		if at == nil {
			at = object{}
			paths[r.path] = at
		}
		at[strings.ToLower(r.method)] = s.operation(r)
	}
	s.problem()
	raw, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Millrace circuits", "version": "v1",
			"description": "Capacity between routers, booked ahead of time. Times are RFC 3339, whole seconds; windows are half-open. Errors are problem details (RFC 9457).",
			"license":     object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"paths":      paths,
		"components": object{"schemas": s},
	}, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("the document is made of constants: %v", err))
	}
	return append(raw, '\n')
}

// schemas by the names of their messages.
type schemas map[string]any

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

func (s schemas) operation(r route) object {
	in, out := r.in.ProtoReflect().Descriptor(), r.out.ProtoReflect().Descriptor()
	op := object{
		"operationId": r.name, "summary": r.summary,
		"responses": object{
			fmt.Sprint(r.status): object{"description": "Done", "content": object{"application/json": object{"schema": s.message(out)}}},
			"default":            object{"description": "Refused or failed", "content": object{"application/problem+json": object{"schema": ref("Problem")}}},
		},
	}
	var parameters []object
	inPath := map[string]bool{}
	for _, name := range r.variables() {
		inPath[name] = true
		parameters = append(parameters, object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	if r.requestID() != nil {
		parameters = append(parameters, object{"name": idempotencyKey, "in": "header", "description": "request_id, where the body has none", "schema": object{"type": "string"}})
	}
	if r.conditional() {
		inPath["version"] = true // said in the header
		parameters = append(parameters, object{"name": "If-Match", "in": "header", "required": true, "description": "the ETag of the circuit as it was read", "schema": object{"type": "string"}})
	}
	if tagOf(r.example()) != "" {
		op["responses"].(object)[fmt.Sprint(r.status)].(object)["headers"] = object{"ETag": object{"description": "the version of the circuit", "schema": object{"type": "string"}}}
	}
	if r.body {
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": s.message(in)}}}
		for name := range inPath { // which is said there only
			delete(s[string(in.Name())].(object)["properties"].(object), name)
		}
	} else {
		for i := range in.Fields().Len() {
			if f := in.Fields().Get(i); !inPath[string(f.Name())] {
				parameters = append(parameters, object{"name": string(f.Name()), "in": "query", "schema": s.field(f)})
			}
		}
	}
	if len(parameters) > 0 {
		op["parameters"] = parameters
	}
	return op
}

// example is an answer with a circuit, where it can have one.
func (r route) example() proto.Message {
	out := proto.Clone(r.out)
	m := out.ProtoReflect()
	if f := m.Descriptor().Fields().ByName("circuit"); f != nil {
		m.Mutable(f)
	}
	return out
}

// message is a reference to a message's schema, which is made the first time.
func (s schemas) message(d protoreflect.MessageDescriptor) object {
	name := string(d.Name())
	if d.FullName() == "google.protobuf.Timestamp" {
		return object{"type": "string", "format": "date-time"}
	}
	if _, known := s[name]; !known {
		properties := object{}
		made := object{"type": "object", "properties": properties, "additionalProperties": false}
		s[name] = made
		if names := required[name]; names != nil {
			made["required"] = names
		}
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			properties[string(f.Name())] = s.field(f)
		}
	}
	return ref(name)
}

func (s schemas) field(f protoreflect.FieldDescriptor) object {
	out := s.single(f)
	if f.IsList() {
		out = object{"type": "array", "items": out}
	}
	name := string(f.Parent().Name()) + "." + string(f.Name())
	for _, bound := range []object{bounds[name], amounts[name]} {
		for k, v := range bound {
			out[k] = v
		}
	}
	return out
}

func (s schemas) single(f protoreflect.FieldDescriptor) object {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return object{"type": "boolean"}
	case protoreflect.Int32Kind:
		return object{"type": "integer", "format": "int32"}
	case protoreflect.Uint32Kind:
		return object{"type": "integer", "format": "int64", "minimum": 0, "maximum": math.MaxUint32}
	case protoreflect.Int64Kind: // answers have strings: not every reader of JSON has 64 bits
		return object{"type": []string{"string", "integer"}}
	case protoreflect.DoubleKind:
		return object{"type": "number"}
	case protoreflect.EnumKind:
		var values []string
		for i := range f.Enum().Values().Len() {
			values = append(values, string(f.Enum().Values().Get(i).Name()))
		}
		return object{"type": "string", "enum": values}
	case protoreflect.MessageKind:
		return s.message(f.Message())
	}
	return object{"type": "string"}
}

func (s schemas) problem() {
	text := object{"type": "string"}
	s["Problem"] = object{
		"type": "object", "required": []string{"type", "title", "status", "detail", "code"},
		"properties": object{
			"type": text, "title": text, "status": object{"type": "integer"}, "detail": text, "code": text, "field": text,
			"refusal": s.message((&circuitsv1.Refusal{}).ProtoReflect().Descriptor()),
		},
	}
}
