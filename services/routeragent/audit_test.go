package routeragent

import (
	"fmt"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
)

func TestTheAuditNamesOperationsInTheOrderInWhichTheyArePerformed(t *testing.T) {
	at := func(name string) *gnmi.Path { return &gnmi.Path{Elem: []*gnmi.PathElem{{Name: name}}} }
	req := &gnmi.SetRequest{Delete: []*gnmi.Path{at("d")}, UnionReplace: []*gnmi.Update{{Path: at("n")}}, Replace: []*gnmi.Update{{Path: at("r")}}}
	for i := range auditPaths {
		req.Update = append(req.Update, &gnmi.Update{Path: at(fmt.Sprint("u", i))})
	}
	const want = "delete /d, union_replace /n, replace /r, update /u0, update /u1, update /u2, update /u3, update /u4, update /u5, update /u6, and 3 more"
	for range 50 {
		if got, operations := pathsOf(req); got != want || operations != 13 {
			t.Fatalf("%d operations: %s\nwant %s", operations, got, want)
		}
	}
}
