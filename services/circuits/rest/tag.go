package rest

import (
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// tagOf is the entity tag of an answer that is one circuit: its version.
func tagOf(out proto.Message) string {
	one, ok := out.(interface{ GetCircuit() *circuitsv1.Circuit })
	if !ok || one.GetCircuit() == nil {
		return ""
	}
	return strconv.Quote(strconv.FormatInt(one.GetCircuit().GetVersion(), 10))
}

// matches is the weak comparison of RFC 9110 that If-None-Match requests.
func matches(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}

// conditional reports whether a call needs the version of what it changes, which If-Match says over HTTP.
func (r route) conditional() bool { return r.version() != nil }

func (r route) version() protoreflect.FieldDescriptor {
	return r.in.ProtoReflect().Descriptor().Fields().ByName("version")
}

// readVersion takes the version from If-Match. A tag that no circuit has is outdated.
func (r route) readVersion(q *http.Request, m protoreflect.Message) *problem {
	header := strings.TrimSpace(q.Header.Get("If-Match"))
	if header == "" {
		return &problem{
			Status: http.StatusPreconditionRequired, Code: "IF_MATCH_REQUIRED", Field: "If-Match",
			Detail: "send the ETag of the circuit that you read as If-Match, so that no other client's change is undone",
		}
	}
	text, quoted := strings.CutPrefix(header, `"`)
	text, closed := strings.CutSuffix(text, `"`)
	n, err := strconv.ParseInt(text, 10, 64)
	if !quoted || !closed || err != nil || n < 1 {
		return &problem{Status: http.StatusPreconditionFailed, Code: "OUTDATED", Field: "If-Match", Detail: header + ` is no ETag of a circuit, such as "3"`}
	}
	m.Set(r.version(), protoreflect.ValueOfInt64(n))
	return nil
}
