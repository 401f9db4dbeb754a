package rest

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// maxBody is room for the longest lists that a request may have.
const maxBody = 1 << 20

// idempotencyKey is the header that is the request's id where its body has none.
const idempotencyKey = "Idempotency-Key"

// read fills a request from path, query and body. What is in the path is said there only.
func (r route) read(w http.ResponseWriter, q *http.Request, in proto.Message) *problem {
	m := in.ProtoReflect()
	if r.body {
		if err := readBody(w, q, in); err != nil {
			return err
		}
	}
	for name, values := range q.URL.Query() {
		if err := setQuery(m, name, values, !r.body); err != nil {
			return &problem{Status: http.StatusBadRequest, Code: "BAD_REQUEST", Field: name, Detail: err.Error()}
		}
	}
	for _, name := range r.variables() {
		m.Set(m.Descriptor().Fields().ByName(protoreflect.Name(name)), protoreflect.ValueOfString(q.PathValue(name)))
	}
	if r.conditional() {
		return r.readVersion(q, m)
	}
	if f := r.requestID(); f != nil && m.Get(f).String() == "" {
		m.Set(f, protoreflect.ValueOfString(q.Header.Get(idempotencyKey)))
	}
	return nil
}

// requestID is the field that Idempotency-Key fills. A read has no second effect, and lists by request_id: the key of a
// client that sends one with every request is no filter.
func (r route) requestID() protoreflect.FieldDescriptor {
	if !r.body {
		return nil
	}
	return r.in.ProtoReflect().Descriptor().Fields().ByName("request_id")
}

func readBody(w http.ResponseWriter, q *http.Request, in proto.Message) *problem {
	if kind, _, err := mime.ParseMediaType(q.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &problem{Status: http.StatusUnsupportedMediaType, Code: "MEDIA_TYPE", Detail: "send application/json"}
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return &problem{Status: http.StatusRequestEntityTooLarge, Code: "TOO_LARGE", Detail: fmt.Sprintf("at most %d bytes", maxBody)}
	case err != nil:
		return &problem{Status: http.StatusBadRequest, Code: "BAD_REQUEST", Detail: "the body does not arrive: " + err.Error()}
	}
	if err := protojson.Unmarshal(raw, in); err != nil {
		return &problem{Status: http.StatusBadRequest, Code: "BAD_REQUEST", Field: "body", Detail: err.Error()}
	}
	return nil
}

// setQuery sets one field by its name in the .proto file.
func setQuery(m protoreflect.Message, name string, values []string, takes bool) error {
	f := m.Descriptor().Fields().ByName(protoreflect.Name(name))
	if f == nil || !takes {
		return fmt.Errorf("there is no query parameter %q", name)
	}
	if !f.IsList() && len(values) > 1 {
		return fmt.Errorf("%q comes %d times", name, len(values))
	}
	for _, text := range values {
		v, err := scalar(f, text)
		switch {
		case err != nil:
			return err
		case f.IsList():
			m.Mutable(f).List().Append(v)
		default:
			m.Set(f, v)
		}
	}
	return nil
}

// queryable reports whether scalar reads a field's type.
func queryable(f protoreflect.FieldDescriptor) bool {
	switch f.Kind() {
	case protoreflect.StringKind, protoreflect.Int32Kind, protoreflect.BoolKind, protoreflect.EnumKind:
		return true
	case protoreflect.MessageKind:
		return f.Message().FullName() == "google.protobuf.Timestamp"
	}
	return false
}

func scalar(f protoreflect.FieldDescriptor, text string) (protoreflect.Value, error) {
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text), nil
	case protoreflect.Int32Kind:
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return protoreflect.Value{}, fmt.Errorf("%q is no number", text)
		}
		return protoreflect.ValueOfInt32(int32(n)), nil
	case protoreflect.BoolKind:
		if text != "true" && text != "false" {
			return protoreflect.Value{}, fmt.Errorf("%q is neither true nor false", text)
		}
		return protoreflect.ValueOfBool(text == "true"), nil
	case protoreflect.EnumKind:
		v := f.Enum().Values().ByName(protoreflect.Name(text))
		if v == nil {
			return protoreflect.Value{}, fmt.Errorf("there is no %s", text)
		}
		return protoreflect.ValueOfEnum(v.Number()), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return protoreflect.Value{}, fmt.Errorf("%q is no time such as 2026-11-23T22:00:00Z (a + in a URL is written %s)", text, url.QueryEscape("+"))
	}
	return protoreflect.ValueOfMessage(timestamppb.New(at).ProtoReflect()), nil
}
