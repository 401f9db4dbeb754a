package rights

import (
	"testing"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// Who logged in cannot act under another name; a service acts for others.
func TestSign(t *testing.T) {
	for name, tt := range map[string]struct {
		who   *Caller
		given string
		want  string
	}{
		"a person under another name":     {&Caller{Name: "ann", Role: Approver}, "bob", "ann"},
		"a person who gives no name":      {&Caller{Name: "ann", Role: Viewer}, "", "ann"},
		"a service for somebody":          {&Caller{Name: "millrace", Role: Service}, "bob", "bob"},
		"nobody":                          {&Caller{Role: Nobody}, "bob", "bob"},
		"where nobody is asked who it is": {nil, "bob", "bob"},
	} {
		ctx := t.Context()
		if tt.who != nil {
			ctx = With(ctx, *tt.who)
		}
		approve, create := &pushv1.ApproveRequest{Id: "c-1", By: tt.given}, &pushv1.CreateRequest{Author: tt.given}
		Sign(ctx, approve)
		Sign(ctx, create)
		Sign(ctx, &pushv1.ListRequest{})
		if approve.GetBy() != tt.want || create.GetAuthor() != tt.want || approve.GetId() != "c-1" {
			t.Errorf("%s: %s, %s, want %s", name, approve.GetBy(), create.GetAuthor(), tt.want)
		}
	}
}
