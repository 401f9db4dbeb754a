package rpc

import (
	"encoding/base64"
	"errors"
	"net/http"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rights"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

// forHeader has who a request is for, between the API gateway and the service that it forwards to.
const forHeader = "Millrace-For"

// Forward prepares a request of in for a service in another process: it carries who sent it, and no credentials, which
// nobody but the gateway needs. What clients wrote there themselves goes. The gateway has checked the origin by its own
// name, which is not the service's.
func Forward(in *http.Request, out http.Header) {
	for _, name := range []string{forHeader, "Authorization", "Cookie", "Origin"} {
		out.Del(name)
	}
	who, known := rights.From(in.Context())
	if !known {
		return // there are no logins
	}
	m := CallerMessage(who)
	m.Address = in.RemoteAddr
	raw, err := proto.Marshal(m)
	if err != nil {
		panic(err) // names and ids, which were read from messages
	}
	out.Set(forHeader, base64.StdEncoding.EncodeToString(raw))
}

var errFor = errors.New(forHeader + " does not say who the request is for")

// Forwarded is who a request is for and the address that it came from, where one was forwarded. Who may say so is not
// decided here.
func Forwarded(r *http.Request) (who rights.Caller, address string, has bool, err error) {
	values := r.Header.Values(forHeader)
	if len(values) == 0 {
		return rights.Caller{}, "", false, nil
	}
	m := &identityv1.Caller{}
	raw, err := base64.StdEncoding.DecodeString(values[0])
	if err != nil || len(values) > 1 || proto.Unmarshal(raw, m) != nil || m.GetRole() < rights.Nobody || m.GetRole() > rights.Admin {
		return rights.Caller{}, "", true, errFor
	}
	return CallerOf(m), m.GetAddress(), true, nil
}

// CallerMessage is a person or program between processes.
func CallerMessage(who rights.Caller) *identityv1.Caller {
	return &identityv1.Caller{Name: who.Name, Role: who.Role, Apis: who.APIs, Credential: who.Credential, Session: who.Session, Limits: rights.LimitsMessage(who.Limits)}
}

// CallerOf reads it.
func CallerOf(m *identityv1.Caller) rights.Caller {
	return rights.Caller{Name: m.GetName(), Role: m.GetRole(), APIs: m.GetApis(), Credential: m.GetCredential(), Session: m.GetSession(), Limits: rights.LimitsOf(m.GetLimits())}
}
