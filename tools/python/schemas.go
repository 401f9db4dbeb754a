package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schemas is the file of types.
func (g *generator) schemas() []byte {
	out := &bytes.Buffer{}
	fmt.Fprintf(out, head, "What the service takes and answers.")
	out.WriteString("from collections.abc import Mapping\nfrom datetime import datetime\nfrom typing import Literal, TypedDict, Union\n\n")
	out.WriteString("__all__ = [\n    \"Time\",\n")
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(g.values)), g.names()) {
		fmt.Fprintf(out, "    %q,\n", name)
	}
	out.WriteString("]\n\nTime = Union[str, datetime]\n\"\"\"RFC 3339 text, or a datetime with a zone.\"\"\"\n")
	for _, name := range slices.Sorted(maps.Keys(g.values)) {
		g.enum(out, name)
	}
	for _, name := range g.names() {
		g.class(out, name)
	}
	g.tables(out)
	return out.Bytes()
}

func (g *generator) enum(out *bytes.Buffer, name string) {
	fmt.Fprintf(out, "\n%s = Literal[\n", name)
	var notes []string
	for _, v := range g.values[name] {
		fmt.Fprintf(out, "    %q,\n", v)
		if text := g.comments.text[name+"."+v]; text != "" {
			notes = append(notes, "- "+v+": "+text)
		}
	}
	out.WriteString("]\n" + docstring(0, g.comments.text[name], strings.Join(notes, "\n")))
}

// class writes a TypedDict. Its required fields, and those with names that are no names in a class, are in classes of
// their own that it inherits: Python 3.10 has no other way to say either.
func (g *generator) class(out *bytes.Buffer, name string) {
	s := g.document.Components.Schemas[name]
	var required, awkward, others []string
	for _, field := range g.fields(name) {
		switch {
		case slices.Contains(s.Required, field):
			required = append(required, field)
		case slices.Contains(keywords, field):
			awkward = append(awkward, field)
		default:
			others = append(others, field)
		}
	}
	var bases []string
	if len(required) > 0 {
		bases = append(bases, "_"+name)
		g.base(out, "_"+name, name, required, true)
	}
	if len(awkward) > 0 {
		bases = append(bases, "_"+name+"Names")
		g.base(out, "_"+name+"Names", name, awkward, false)
	}
	if len(bases) == 0 {
		bases = []string{"TypedDict"}
	}
	fmt.Fprintf(out, "\n\nclass %s(%s, total=False):\n", name, strings.Join(bases, ", "))
	doc := docstring(4, g.comments.text[name])
	out.WriteString(doc)
	if doc != "" && len(others) > 0 {
		out.WriteString("\n")
	}
	for _, field := range others {
		fmt.Fprintf(out, "    %s: %s\n%s", field, g.listed(s.Properties[field], g.sent[name]), docstring(4, g.comments.text[name+"."+field]))
	}
	if doc == "" && len(others) == 0 {
		out.WriteString("    pass\n")
	}
}

// base writes a TypedDict of some fields of a schema as a call, in which all names are text.
func (g *generator) base(out *bytes.Buffer, base, name string, fields []string, total bool) {
	fmt.Fprintf(out, "\n\n%s = TypedDict(\n    %q,\n    {\n", base, base)
	for _, field := range fields {
		for _, line := range wrap(g.comments.text[name+"."+field], 10) {
			fmt.Fprintf(out, "        # %s\n", line)
		}
		fmt.Fprintf(out, "        %q: %q,\n", field, g.listed(g.document.Components.Schemas[name].Properties[field], g.sent[name]))
	}
	out.WriteString("    },\n")
	if !total {
		out.WriteString("    total=False,\n")
	}
	out.WriteString(")\n")
}

func (g *generator) listed(s *schema, sent bool) string {
	if s.Items != nil {
		return "list[" + g.hint(s.Items, sent, "") + "]"
	}
	return g.hint(s, sent, "")
}

// tables say how an answer is read: which fields are whole numbers that JSON has as text, and which have a schema.
func (g *generator) tables(out *bytes.Buffer) {
	table := func(name, of, doc string, row func(s *schema) string) {
		fmt.Fprintf(out, "\n%s: Mapping[str, Mapping[str, %s]] = {\n", name, of)
		for _, schema := range g.names() {
			var rows []string
			for _, field := range g.fields(schema) {
				if value := row(g.document.Components.Schemas[schema].Properties[field].element()); value != "" {
					rows = append(rows, fmt.Sprintf("        %q: %s,\n", field, value))
				}
			}
			if len(rows) > 0 {
				fmt.Fprintf(out, "    %q: {\n%s    },\n", schema, strings.Join(rows, ""))
			}
		}
		out.WriteString("}\n" + docstring(0, doc))
	}
	out.WriteString("\n")
	table("NESTED", "str", "The fields of a schema that have a schema of their own, and which.", func(s *schema) string {
		if s.Ref == "" {
			return ""
		}
		return fmt.Sprintf("%q", s.target())
	})
	table("INTEGERS", "type", "The fields of a schema that are whole numbers of 64 bits, which JSON has as text.", func(s *schema) string {
		if !s.long() {
			return ""
		}
		return "int"
	})
}
