package rights

import (
	"errors"
	"fmt"
)

// Front is the service that people come to. It alone says for whom it forwards a request.
const Front = "dashboard"

// Arrival is what the port of a service in a process of its own knows of a request.
type Arrival struct {
	// Service is the name in the certificate that the request came with.
	Service string
	// Calls are those that the process of this name was written to make.
	Calls []string
	// For is who the request is forwarded for, where it says so.
	For *Caller
	// Logins tells that callers need a login.
	Logins bool
}

// Sender is who makes a call that arrived so.
//
//	certificate  forwarded  logins   caller
//	dashboard    yes        –        whom it forwards for
//	other        yes        –        an error: no other service speaks for people
//	dashboard    no         off      a service that may make every call: everybody may, under the name that they give
//	dashboard    no         on       the service itself, with its own calls alone
//	other        no         –        the service itself, with its own calls alone
func Sender(a Arrival) (Caller, error) {
	switch {
	case a.For != nil && a.Service != Front:
		return Caller{}, fmt.Errorf("%s forwards no requests of others; only the %s does", a.Service, Front)
	case a.For != nil:
		return *a.For, nil
	case a.Service == "":
		return Caller{}, errors.New("nothing is known of who sent the request")
	case a.Service == Front && !a.Logins:
		return Caller{Role: Service}, nil
	}
	return AsService(a.Service, a.Calls), nil
}

// AsService is a service of another process: it makes the calls that are its, and no others.
func AsService(name string, calls []string) Caller {
	return Caller{Name: name, Role: Service, Only: append([]string{}, calls...)}
}
