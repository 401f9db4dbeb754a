package routeragent

import (
	"context"
	"path"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflection1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionalpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/millrace/millrace/internal/access"
	"github.com/millrace/millrace/internal/bounds"
)

// needs is what each call that the agent serves needs. One that is not here is made by nobody.
var needs = map[string]access.Need{
	gnmi.GNMI_Capabilities_FullMethodName: access.Read,
	gnmi.GNMI_Get_FullMethodName:          access.Read,
	gnmi.GNMI_Subscribe_FullMethodName:    access.Read,
	gnmi.GNMI_Set_FullMethodName:          access.Write, // Commit and its confirm are Sets

	healthpb.Health_Check_FullMethodName: access.Read,
	healthpb.Health_Watch_FullMethodName: access.Read,
	healthpb.Health_List_FullMethodName:  access.Read,

	reflection1.ServerReflection_ServerReflectionInfo_FullMethodName:     access.Read,
	reflectionalpha.ServerReflection_ServerReflectionInfo_FullMethodName: access.Read,
}

// admit decides about a call when its headers have come, before any message of it is read.
func (a *Agent) admit(ctx context.Context, info *tap.Info) (context.Context, error) {
	call, need := path.Base(info.FullMethodName), needs[info.FullMethodName]
	c, err := a.identify(ctx)
	verdict := access.Decide(err == nil, c.role, need)
	if verdict != access.Granted {
		return ctx, a.refuse(c, call, string(verdict), denial(c, verdict, err))
	}
	if need != access.Write {
		if err := a.room(); err != nil {
			return ctx, a.refuse(c, call, "", err)
		}
	}
	first, why := a.conns.Find(c.address).Greet(c.name)
	if first {
		a.auditLogin(c, call)
	}
	var end func()
	if why == bounds.Room {
		end, why = a.clients.Begin(c.name, need == access.Write)
	}
	if why != bounds.Room {
		return ctx, a.refuse(c, call, string(why), full(c.name, why, a.cfg.SetsPerSecond))
	}
	a.conns.Find(c.address).Granted()
	ctx, c.abandon = context.WithCancel(ctx)
	context.AfterFunc(ctx, end)
	return context.WithValue(ctx, clientKey{}, c), nil
}

// denial is the answer to a client that may not make a call; why it has proven nothing is in its error.
func denial(c client, why access.Verdict, err error) error {
	switch why {
	case access.Unauthenticated:
		return err
	case access.NoRole:
		return status.Errorf(codes.PermissionDenied, "%q has no role; name it in roles or unit_roles of the agent's configuration", c.name)
	case access.TooLow:
		return status.Errorf(codes.PermissionDenied, "%q may read and not write: its role is viewer", c.name)
	}
	return status.Error(codes.Unimplemented, "the agent serves no such call")
}

// refuse counts and writes down a call that is not made. Without a reason somebody has counted it.
func (a *Agent) refuse(c client, call, reason string, err error) error {
	if reason != "" {
		a.metrics.refused.WithLabelValues(reason).Inc()
	}
	a.metrics.calls.WithLabelValues(methodLabel(call), status.Code(err).String()).Inc()
	a.auditRefusal(c, call, err)
	a.conns.Find(c.address).Refused()
	return err
}

// methodLabel keeps names that a client made up out of the metrics.
func methodLabel(method string) string {
	switch call := path.Base(method); call {
	case "Capabilities", "Get", "Set", "Subscribe", "Check", "Watch", "List", "ServerReflectionInfo":
		return call
	}
	return "other"
}

func (a *Agent) observe(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	resp, err := next(ctx, req)
	if info.FullMethod == gnmi.GNMI_Set_FullMethodName {
		a.tellHealth()
	}
	a.metrics.calls.WithLabelValues(methodLabel(info.FullMethod), status.Code(err).String()).Inc()
	return resp, err
}

func (a *Agent) observeStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	err := a.untilEnded(stream, info.FullMethod, func(s grpc.ServerStream) error { return next(srv, s) })
	a.metrics.calls.WithLabelValues(methodLabel(info.FullMethod), status.Code(err).String()).Inc()
	return err
}
