package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const smallProto = `syntax = "proto3";

// Of the file.

// S is served.
service S {
  // Not of CircuitsService.
  rpc Other(DoRequest) returns (Thing);
}

service CircuitsService {
  // DoIt does "it".
  rpc DoIt(DoRequest) returns (Thing) {
    option (x) = {a: 1};
  }
}

// Thing is a thing,
// of two lines.
message Thing {
  // Where it comes from.
  string from = 2;
  // Not of this schema.
  int32 gone = 3;
  int64 size = 1 [deprecated = true];
  // At once.
  repeated Kind kinds = 4;
}

enum Kind {
  // As KIND_ONE.
  KIND_UNSPECIFIED = 0;
  KIND_ONE = 1;
}
`

const smallDocument = `{"paths": {"/v1/things/{id}": {
  "post": {"operationId": "DoIt", "summary": "Do it", "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
      {"name": "If-Match", "in": "header", "required": true, "description": "the ETag", "schema": {"type": "string"}}],
    "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/DoItRequest"}}}},
    "responses": {"201": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}, "default": {"content": {"application/problem+json": {}}}}},
  "get": {"operationId": "ListAll", "summary": "All of them", "parameters": [{"name": "kinds", "in": "query", "schema": {"type": "array", "items": {"type": "string", "enum": ["KIND_UNSPECIFIED", "KIND_ONE"]}}},
      {"name": "from", "in": "query", "schema": {"type": "string", "format": "date-time"}}, {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
    "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}}}}},
 "components": {"schemas": {
  "DoItRequest": {"required": ["by"], "properties": {"by": {"type": "string"}, "at": {"type": "string", "format": "date-time"}}},
  "Empty": {},
  "Thing": {"properties": {"from": {"type": "string"}, "size": {"type": ["string", "integer"]}, "kinds": {"type": "array", "items": {"type": "string", "enum": ["KIND_UNSPECIFIED", "KIND_ONE"]}},
     "made": {"type": "string", "format": "date-time"}, "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}}}}}}}`

func small(t *testing.T) *generator {
	t.Helper()
	d, err := readDocument([]byte(smallDocument))
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGenerator(d, readComments(smallProto))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// after is what follows a line of a text.
func after(text []byte, line string) string {
	_, rest, _ := strings.Cut(string(text), line+"\n")
	return rest
}

func TestSchemas(t *testing.T) {
	const want = `
Kind = Literal[
    "KIND_UNSPECIFIED",
    "KIND_ONE",
]
"""- KIND_UNSPECIFIED: As KIND_ONE."""


_DoItRequest = TypedDict(
    "_DoItRequest",
    {
        "by": "str",
    },
)


class DoItRequest(_DoItRequest, total=False):
    at: Time


class Empty(TypedDict, total=False):
    pass


_ThingNames = TypedDict(
    "_ThingNames",
    {
        # Where it comes from.
        "from": "str",
    },
    total=False,
)


class Thing(_ThingNames, total=False):
    """Thing is a thing, of two lines."""

    size: int
    kinds: list[Kind]
    """At once."""
    made: str
    parts: list[Thing]


NESTED: Mapping[str, Mapping[str, str]] = {
    "Thing": {
        "parts": "Thing",
    },
}
"""The fields of a schema that have a schema of their own, and which."""

INTEGERS: Mapping[str, Mapping[str, type]] = {
    "Thing": {
        "size": int,
    },
}
"""The fields of a schema that are whole numbers of 64 bits, which JSON has as text."""
`
	if diff := cmp.Diff(want, after(small(t).schemas(), `"""RFC 3339 text, or a datetime with a zone."""`)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOperations(t *testing.T) {
	const want = `
    def do_it(
        self,
        id: str,
        body: schemas.DoItRequest,
        *,
        if_match: str,
    ) -> schemas.Thing:
        """DoIt does "it".

        POST /v1/things/{id}

        :param if_match: the ETag
        """
        answer = self._call(
            "POST",
            f"/v1/things/{_segment(id)}",
            answer="Thing",
            headers={
                "If-Match": if_match,
            },
            body=body,
        )
        return cast(schemas.Thing, answer)

    def list_all(
        self,
        id: str,
        *,
        kinds: Optional[Sequence[schemas.Kind]] = None,
        from_: Optional[schemas.Time] = None,
    ) -> schemas.Thing:
        """All of them.

        GET /v1/things/{id}
        """
        answer = self._call(
            "GET",
            f"/v1/things/{_segment(id)}",
            answer="Thing",
            query={
                "kinds": kinds,
                "from": from_,
            },
        )
        return cast(schemas.Thing, answer)
`
	if diff := cmp.Diff(want, after(small(t).operations(), "        self._call = transport")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a document may have and this one does not is no type of a guess.
func TestWhatIsNotKnownIsRefused(t *testing.T) {
	const field = `{"components": {"schemas": {"Thing": {"properties": {"a": %s}}}}}`
	const operation = `{"paths": {"/v1/x": {"get": {"operationId": "Get", "parameters": [%s], "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/X"}}}}}}}}}`
	for name, c := range map[string]struct{ document, why string }{
		"a type":              {fmt.Sprintf(field, `{"type": "null"}`), "Thing.a"},
		"several types":       {fmt.Sprintf(field, `{"type": ["string", "null"]}`), "Thing.a"},
		"no type":             {fmt.Sprintf(field, `{"oneOf": []}`), "Thing.a"},
		"a list of a type":    {fmt.Sprintf(field, `{"type": "array", "items": {"type": "null"}}`), "Thing.a"},
		"a list of anything":  {fmt.Sprintf(field, `{"type": "array"}`), "Thing.a"},
		"a schema":            {fmt.Sprintf(field, `{"$ref": "#/components/schemas/Gone"}`), "Gone"},
		"a nameless enum":     {fmt.Sprintf(field, `{"type": "string", "enum": ["ONE"]}`), "ONE"},
		"an enum of a schema": {fmt.Sprintf(field, `{"type": "string", "enum": ["THING_UNSPECIFIED"]}`), "THING_UNSPECIFIED"},
		"two enums of a name": {`{"components": {"schemas": {"A": {"properties": {"a": {"type": "string", "enum": ["K_UNSPECIFIED", "K_A"]}, "b": {"type": "string", "enum": ["K_UNSPECIFIED"]}}}}}}`, "K_UNSPECIFIED"},
		"a parameter":         {fmt.Sprintf(operation, `{"name": "p", "in": "query", "schema": {"type": "null"}}`), "parameter p"},
		"no answer":           {`{"paths": {"/v1/x": {"get": {"operationId": "Get", "responses": {"204": {}}}}}}`, "Get has no answer"},
	} {
		d, err := readDocument([]byte(c.document))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newGenerator(d, comments{}); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readDocument([]byte("{")); err == nil {
		t.Error("what is no JSON was read")
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{"RequestAll": "request_all", "List": "list", "If-Match": "if_match", "Idempotency-Key": "idempotency_key", "from": "from_", "id": "id"} {
		if got := parameterName(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
	if got := camel("ON_FAILURE"); got != "OnFailure" {
		t.Error(got)
	}
	for _, c := range []struct {
		indent int
		said   []string
		want   string
	}{
		{4, nil, ""},
		{4, []string{"", ""}, ""},
		{4, []string{"One."}, "    \"\"\"One.\"\"\"\n"},
		{0, []string{`He said "so"`}, "\"\"\"He said \"so\\\"\"\"\"\n"},
		{0, []string{`a\b and """ in it`}, "\"\"\"a\\\\b and \\\"\\\"\\\" in it\"\"\"\n"},
		{4, []string{"One.", "", "Two.\nThree."}, "    \"\"\"One.\n\n    Two.\n    Three.\n    \"\"\"\n"},
		{0, []string{strings.Repeat("word ", 30)}, "\"\"\"" + strings.TrimSpace(strings.Repeat("word ", 23)) + "\n" + strings.TrimSpace(strings.Repeat("word ", 7)) + "\n\"\"\"\n"},
	} {
		if diff := cmp.Diff(c.want, docstring(c.indent, c.said...)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.said, diff)
		}
	}
}
