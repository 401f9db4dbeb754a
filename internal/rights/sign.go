package rights

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// signed are the fields of requests in which callers give their names.
var signed = []protoreflect.Name{"by", "author"}

// Sign writes the caller's name into a request that asks for one, over what the caller wrote there: who logged in
// cannot act under another name. A service may: it acts for others. Without logins the name that was given stays.
func Sign(ctx context.Context, m proto.Message) {
	who, asked := From(ctx)
	if !asked || who.Role == Service || who.Name == "" {
		return
	}
	r := m.ProtoReflect()
	for _, name := range signed {
		if f := r.Descriptor().Fields().ByName(name); f != nil && f.Kind() == protoreflect.StringKind && !f.IsList() {
			r.Set(f, protoreflect.ValueOfString(who.Name))
		}
	}
}
