package rest

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// binding is what the google.api.http option of a call says.
type binding struct {
	method, path string
	// body: what is not in the path is in the body; otherwise it is in the query.
	body bool
}

// literal is a segment of a path that is no variable in braces.
var literal = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// bindingOf reads the option of a call, and refuses what this package does not serve. A call without the option has no
// route.
func bindingOf(m protoreflect.MethodDescriptor) (b binding, has bool, err error) {
	if !proto.HasExtension(m.Options(), annotations.E_Http) {
		return binding{}, false, nil
	}
	rule, ok := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	if !ok {
		return binding{}, false, fmt.Errorf("%s: google.api.http is no HttpRule", m.Name())
	}
	if err := b.read(rule); err != nil {
		return binding{}, false, fmt.Errorf("%s: %w", m.Name(), err)
	}
	if m.IsStreamingClient() || m.IsStreamingServer() {
		return binding{}, false, fmt.Errorf("%s: a stream has no answer of JSON", m.Name())
	}
	if err := b.fits(m.Input().Fields()); err != nil {
		return binding{}, false, fmt.Errorf("%s: %w", m.Name(), err)
	}
	return b, true, nil
}

// read takes one pattern, of which the whole request is path and body, or path and query.
func (b *binding) read(rule *annotations.HttpRule) error {
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		b.method, b.path = http.MethodGet, p.Get
	case *annotations.HttpRule_Post:
		b.method, b.path = http.MethodPost, p.Post
	case *annotations.HttpRule_Patch:
		b.method, b.path = http.MethodPatch, p.Patch
	default:
		return fmt.Errorf("get, post or patch, not %T", p)
	}
	if len(rule.GetAdditionalBindings()) > 0 || rule.GetResponseBody() != "" || rule.GetSelector() != "" {
		return errors.New("one path and the whole answer, no additional_bindings, response_body or selector")
	}
	b.body = rule.GetBody() == "*"
	if want := b.method != http.MethodGet; b.body != want || !b.body && rule.GetBody() != "" {
		return fmt.Errorf(`body is "*", and get has none, not %q`, rule.GetBody())
	}
	return nil
}

// fits reports what of the path or of the query is no field that can be read from there.
func (b binding) fits(fields protoreflect.FieldDescriptors) error {
	if !strings.HasPrefix(b.path, Prefix) {
		return fmt.Errorf("%s is not below %s", b.path, Prefix)
	}
	inPath := map[string]bool{}
	for segment := range strings.SplitSeq(strings.TrimPrefix(b.path, "/"), "/") {
		name, variable := strings.CutPrefix(segment, "{")
		name, closed := strings.CutSuffix(name, "}")
		if !variable && literal.MatchString(segment) {
			continue
		}
		f := fields.ByName(protoreflect.Name(name))
		if !variable || !closed || f == nil || f.Kind() != protoreflect.StringKind || f.IsList() {
			return fmt.Errorf("%s: %q is neither a word nor a text field of the request in braces", b.path, segment)
		}
		inPath[name] = true
	}
	for i := range fields.Len() {
		if f := fields.Get(i); !b.body && !inPath[string(f.Name())] && !queryable(f) {
			return fmt.Errorf("%s is of a type that no query parameter has", f.Name())
		}
	}
	return nil
}

// variables are the names in braces of the path.
func (b binding) variables() (out []string) {
	for part := range strings.SplitSeq(b.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			out = append(out, strings.TrimSuffix(name, "}"))
		}
	}
	return out
}
