package nsi

import (
	"errors"
	"fmt"
	"strconv"

	"connectrpc.com/connect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/nsi/soap"
)

// kind is an error of GFD.235.
type kind struct{ id, name string }

// The errors that this provider knows.
var (
	payload       = kind{"00100", "GENERIC_MESSAGE_PAYLOAD_ERROR"}
	missing       = kind{"00101", "MISSING_PARAMETER"}
	unsupported   = kind{"00102", "UNSUPPORTED_PARAMETER"}
	notThere      = kind{"00103", "NOT_IMPLEMENTED"}
	wrongVersion  = kind{"00104", "VERSION_NOT_SUPPORTED"}
	transition    = kind{"00201", "INVALID_TRANSITION"}
	noReservation = kind{"00203", "RESERVATION_NONEXISTENT"}
	unauthorized  = kind{"00302", "UNAUTHORIZED"}
	internal      = kind{"00500", "GENERIC_INTERNAL_ERROR"}
	noResource    = kind{"00600", "GENERIC_RESOURCE_UNAVAILABLE"}
	service       = kind{"00700", "GENERIC_SERVICE_ERROR"}
	unknownSTP    = kind{"00701", "UNKNOWN_STP"}
	stpInUse      = kind{"00704", "STP_UNAVALABLE"} // so spelled in GFD.235
	noCapacity    = kind{"00705", "CAPACITY_UNAVAILABLE"}
	oneWay        = kind{"00706", "DIRECTIONALITY_MISMATCH"}
	wrongERO      = kind{"00707", "INVALID_ERO_MEMBER"}
	unknownLabel  = kind{"00708", "UNKNOWN_LABEL_TYPE"}
	invalidLabel  = kind{"00709", "INVALID_LABEL_FORMAT"}
	noPath        = kind{"00710", "NO_TRANSPORTPLANE_PATH_FOUND"}
)

// exception is a serviceException.
type exception struct {
	kind
	text       string
	connection string
	variables  []soap.Element
}

// Error implements error.
func (e *exception) Error() string { return e.name + ": " + e.text }

func fail(k kind, format string, args ...any) *exception {
	return &exception{kind: k, text: fmt.Sprintf(format, args...)}
}

// with adds what the error is about.
func (e *exception) with(variable, value string) *exception {
	e.variables = append(e.variables, soap.E("variable", soap.T("value", value)).With("type", variable))
	return e
}

// exception is the element of one under a name: with a prefix in a fault, without in a message.
func (c *Component) exception(name string, e *exception) soap.Element {
	var variables soap.Element
	if len(e.variables) > 0 {
		variables = soap.E("variables", e.variables...)
	}
	return soap.E(name, soap.T("nsaId", c.cfg.NSA), soap.Optional("connectionId", e.connection), soap.T("serviceType", c.cfg.ServiceType),
		soap.T("errorId", e.id), soap.T("text", e.Error()), variables)
}

// refusals are what codes of services/circuits are in NSI.
var refusals = map[string]kind{
	"CAPACITY": noCapacity, "WINDOW_TOO_SHORT": noCapacity, "VLAN_IN_USE": stpInUse, "NO_PATH": noPath, "NO_BACKUP": noPath, "LATENCY": noPath,
	"RISK_GROUPS": noPath, "AFFINITY": noPath, "LOOSE_HOPS": noPath, "HOPS": noPath, "SID_DEPTH": noPath,
	"SEARCH_BOUND": noPath, "QUOTA": noResource, "POLICY": unauthorized, "BAD_REQUEST": service, "OUTDATED": service,
}

// refused is the exception of an answer of services/circuits, or the error as it is where that is no refusal: then the
// call is to be repeated.
func refused(err error) (*exception, error) {
	var answer *connect.Error
	if !errors.As(err, &answer) {
		return nil, err
	}
	for _, d := range answer.Details() {
		m, err := d.Value()
		if no, ok := m.(*circuitsv1.Refusal); ok && err == nil {
			return refusedWith(no), nil
		}
	}
	switch answer.Code() {
	case connect.CodeFailedPrecondition:
		return fail(service, "%s", answer.Message()), nil
	case connect.CodeNotFound:
		return fail(noReservation, "%s", answer.Message()), nil
	case connect.CodeInvalidArgument, connect.CodeAlreadyExists:
		return fail(internal, "%s", answer.Message()), nil
	}
	return nil, err
}

// maxBlockers is how many links are named in one exception.
const maxBlockers = 20

// refusedWith says which links and VLANs block, and what they lack.
func refusedWith(no *circuitsv1.Refusal) *exception {
	k, known := refusals[no.GetCode()]
	if !known {
		k = service
	}
	out := fail(k, "%s", no.GetReason())
	for i, b := range no.GetBlockers() {
		if i == maxBlockers {
			break
		}
		if b.GetLink() != "" {
			out = out.with("link", b.GetLink()).with("shortfallMbps", strconv.FormatInt((b.GetShortfallBitsPerSecond()+mega-1)/mega, 10))
		}
		if b.GetPort() != "" {
			out = out.with("port", b.GetRouter()+" "+b.GetPort()).with("vlan", strconv.Itoa(int(b.GetVlan())))
		}
	}
	return out
}

// mega is bit/s in one Mbit/s.
const mega = 1_000_000
