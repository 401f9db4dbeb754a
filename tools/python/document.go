package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// document is what of an OpenAPI document is made into Python.
type document struct {
	Paths      map[string]map[string]*operation
	Components struct{ Schemas map[string]*schema }
}

type operation struct {
	OperationID, Summary string
	Parameters           []parameter
	RequestBody          content
	Responses            map[string]content
	// method and path are where it stands.
	method, path string
}

type parameter struct {
	Name, In, Description string
	Required              bool
	Schema                *schema
}

type content struct {
	Content map[string]struct{ Schema *schema }
}

// json is the schema of what is no problem.
func (c content) json() *schema { return c.Content["application/json"].Schema }

type schema struct {
	Ref        string `json:"$ref"`
	Type       types
	Format     string
	Enum       []string
	Items      *schema
	Properties map[string]*schema
	Required   []string
}

// types are one name, or several: whole numbers of 64 bits are string and integer.
type types []string

// UnmarshalJSON takes both.
func (t *types) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(t))
}

// target is the schema that a reference names.
func (s *schema) target() string { return strings.TrimPrefix(s.Ref, "#/components/schemas/") }

// element is the schema of a list's elements, or of the value that is no list.
func (s *schema) element() *schema {
	if s.Items != nil {
		return s.Items
	}
	return s
}

// long reports whether JSON has it as text, or may have.
func (s *schema) long() bool { return slices.Equal(s.Type, types{"string", "integer"}) }

func readDocument(raw []byte) (*document, error) {
	d := &document{}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	return d, nil
}

// operations in the order of their names.
func (d *document) operations() []*operation {
	var out []*operation
	for path, methods := range d.Paths {
		for method, o := range methods {
			o.method, o.path = strings.ToUpper(method), path
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *operation) int { return strings.Compare(a.OperationID, b.OperationID) })
	return out
}

// answer is the name of the schema of success.
func (o *operation) answer() string {
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		if s := o.Responses[status].json(); s != nil {
			return s.target()
		}
	}
	return ""
}

// sent are the schemas that a request may have, and those in them.
func (d *document) sent() map[string]bool {
	out := map[string]bool{}
	var visit func(s *schema)
	visit = func(s *schema) {
		name := s.element().target()
		if name == "" || out[name] {
			return
		}
		out[name] = true
		for _, p := range d.Components.Schemas[name].Properties {
			visit(p)
		}
	}
	for _, o := range d.operations() {
		if body := o.RequestBody.json(); body != nil {
			visit(body)
		}
	}
	return out
}
