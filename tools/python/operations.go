package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// service is where the comments of calls are.
const service = "CircuitsService"

const imports = `from collections.abc import Mapping, Sequence
from typing import Optional, Protocol, cast
from urllib.parse import quote

from . import schemas


def _segment(value: str) -> str:
    return quote(value, safe="")


class Transport(Protocol):
    """How a call is made."""

    def __call__(
        self,
        method: str,
        path: str,
        *,
        answer: str,
        query: Optional[Mapping[str, object]] = None,
        headers: Optional[Mapping[str, Optional[str]]] = None,
        body: object = None,
    ) -> object:
        """The answer, read as the schema that answer names.

        What is None in query and headers is left out, but for an Idempotency-Key: the call takes one, and the transport
        may make it.
        """


class Operations:
    """One method for each operation of the OpenAPI document.

    A body is sent as it is, and an answer is what the document says. Errors are those of the transport.
    """

    def __init__(self, transport: Transport) -> None:
        self._call = transport
`

// operations is the file of methods.
func (g *generator) operations() []byte {
	out := &bytes.Buffer{}
	fmt.Fprintf(out, head, "The operations of the service.")
	out.WriteString(imports)
	for _, o := range g.document.operations() {
		g.method(out, o)
	}
	return out.Bytes()
}

// method writes one method. What is in the path, and the body, come in order, all others by name.
func (g *generator) method(out *bytes.Buffer, o *operation) {
	var ordered, named, notes []string
	in := map[string][]string{}
	for _, p := range o.Parameters {
		name := parameterName(p.Name)
		in[p.In] = append(in[p.In], fmt.Sprintf("%q: %s", p.Name, name))
		hint := g.parameter(p)
		switch {
		case p.In == "path":
			ordered = append(ordered, name+": "+hint)
		case p.Required:
			named = append(named, name+": "+hint)
		default:
			named = append(named, name+": Optional["+hint+"] = None")
		}
		if text := g.about(o, p); text != "" {
			notes = append(notes, ":param "+name+": "+text)
		}
	}
	var arguments []string
	for _, kind := range []struct{ in, name string }{{"query", "query"}, {"header", "headers"}} {
		if len(in[kind.in]) > 0 {
			arguments = append(arguments, kind.name+"={\n                "+strings.Join(in[kind.in], ",\n                ")+",\n            }")
		}
	}
	if body := o.RequestBody.json(); body != nil {
		ordered = append(ordered, "body: "+g.hint(body, true, "schemas."))
		arguments = append(arguments, "body=body")
	}
	if len(named) > 0 {
		named = append([]string{"*"}, named...)
	}
	about := g.comments.text[service+"."+o.OperationID]
	if about == "" {
		about = o.Summary + "."
	}
	fmt.Fprintf(out, "\n    def %s(\n        self,\n", snake(o.OperationID))
	for _, one := range append(ordered, named...) {
		fmt.Fprintf(out, "        %s,\n", one)
	}
	fmt.Fprintf(out, "    ) -> schemas.%s:\n%s", o.answer(), docstring(8, about, o.method+" "+o.path, strings.Join(notes, "\n")))
	fmt.Fprintf(out, "        answer = self._call(\n            %q,\n            %s,\n            answer=%q,\n", o.method, path(o.path), o.answer())
	for _, argument := range arguments {
		fmt.Fprintf(out, "            %s,\n", argument)
	}
	fmt.Fprintf(out, "        )\n        return cast(schemas.%s, answer)\n", o.answer())
}

// parameter is the type of a parameter.
func (g *generator) parameter(p parameter) string {
	hint := g.hint(p.Schema.element(), true, "schemas.")
	if p.Schema.Items != nil {
		return "Sequence[" + hint + "]"
	}
	return hint
}

// about is what is said of a parameter: in the document, or of the field that it fills.
func (g *generator) about(o *operation, p parameter) string {
	if p.Description != "" {
		return p.Description
	}
	return g.comments.text[o.OperationID+"Request."+p.Name]
}

var variable = regexp.MustCompile(`\{(\w+)\}`)

// path is the expression of a path.
func path(template string) string {
	if !variable.MatchString(template) {
		return fmt.Sprintf("%q", template)
	}
	return "f" + fmt.Sprintf("%q", variable.ReplaceAllStringFunc(template, func(v string) string {
		return "{_segment(" + parameterName(strings.Trim(v, "{}")) + ")}"
	}))
}
