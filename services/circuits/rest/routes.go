package rest

import (
	"context"
	"fmt"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
)

// route is what of HTTP is which call.
type route struct {
	binding
	row
	name string
}

// row is what google.api.http does not say of a call: the line in the document, the status of success, and the method
// of the handler.
//
// The rest of what it does not say follows from messages, so that no table has it: errors are problem details
// (problem.go); a body with request_id takes it from Idempotency-Key as well, and one with version takes that from
// If-Match alone (read.go, tag.go); an answer with a circuit has an ETag.
type row struct {
	summary string
	// status of success.
	status int
	// in and out are empty messages of the call.
	in, out proto.Message
	call    func(context.Context, Service, proto.Message) (proto.Message, error)
}

// rows by the names of calls, one for each call that has the option.
var rows = map[string]row{
	"Quote":             unary("What a request would get, without booking", http.StatusOK, Service.Quote),
	"Request":           unary("Hold capacity for a circuit", http.StatusCreated, Service.Request),
	"List":              unary("List circuits, page by page", http.StatusOK, Service.List),
	"Get":               unary("One circuit", http.StatusOK, Service.Get),
	"Modify":            unary("Another rate, end or path", http.StatusOK, Service.Modify),
	"Reoptimise":        unary("Better paths for circuits, found and booked", http.StatusOK, Service.Reoptimise),
	"RequestAll":        unary("Hold capacity for several circuits, or for several windows: all of them or none", http.StatusCreated, Service.RequestAll),
	"Commit":            unary("Book what is held", http.StatusOK, Service.Commit),
	"Extend":            unary("Hold for longer", http.StatusOK, Service.Extend),
	"Release":           unary("Give a circuit up", http.StatusOK, Service.Release),
	"Activate":          unary("Let a circuit onto routers", http.StatusOK, Service.Activate),
	"Deactivate":        unary("Take a circuit off routers, and keep it booked", http.StatusOK, Service.Deactivate),
	"Usage":             unary("What a circuit sent over time", http.StatusOK, Service.Usage),
	"Statement":         unary("What the circuits of a project booked, carried and missed", http.StatusOK, Service.Statement),
	"Quota":             unary("What a project may have, and what it has of it", http.StatusOK, Service.Quota),
	"Proposals":         unary("Circuits that a project might request for huge transfers that were seen", http.StatusOK, Service.Proposals),
	"Calendar":          unary("What is free on links over time", http.StatusOK, Service.Calendar),
	"AddMaintenance":    unary("Plan that links are out or have less, and see which circuits have to leave", http.StatusOK, Service.AddMaintenance),
	"ListMaintenance":   unary("What is planned; with an id also which circuits it still hits", http.StatusOK, Service.ListMaintenance),
	"RemoveMaintenance": unary("Give links their capacity back", http.StatusOK, Service.RemoveMaintenance),
}

// routes of the service, in the order of the .proto file.
var routes = func() []route {
	service := circuitsv1.File_millrace_circuits_v1_circuits_proto.Services().ByName("CircuitsService")
	out, err := routesOf(service, rows)
	if err != nil {
		panic(fmt.Sprintf("circuits.proto and the table of services/circuits/rest are constants: %v", err))
	}
	return out
}()

// routesOf joins options and rows. Neither is there without the other.
func routesOf(service protoreflect.ServiceDescriptor, rows map[string]row) ([]route, error) {
	var out []route
	for i := range service.Methods().Len() {
		m := service.Methods().Get(i)
		name := string(m.Name())
		b, bound, err := bindingOf(m)
		if err != nil {
			return nil, err
		}
		r, listed := rows[name]
		if bound != listed {
			return nil, fmt.Errorf("%s: option google.api.http: %t, row: %t", name, bound, listed)
		}
		if bound {
			out = append(out, route{binding: b, row: r, name: name})
		}
	}
	if len(out) != len(rows) {
		return nil, fmt.Errorf("%d of %d rows are of calls", len(out), len(rows))
	}
	return out, nil
}

func (r route) procedure() string {
	return "/" + circuitsv1connect.CircuitsServiceName + "/" + r.name
}

// message is a pointer to a generated struct.
type message[T any] interface {
	*T
	proto.Message
}

func unary[In, Out any, PIn message[In], POut message[Out]](summary string, status int,
	call func(Service, context.Context, *connect.Request[In]) (*connect.Response[Out], error)) row {
	return row{
		summary: summary, status: status, in: PIn(new(In)), out: POut(new(Out)),
		call: func(ctx context.Context, s Service, m proto.Message) (proto.Message, error) {
			r, err := call(s, ctx, connect.NewRequest((*In)(m.(PIn))))
			if err != nil {
				return nil, err
			}
			return POut(r.Msg), nil
		},
	}
}
