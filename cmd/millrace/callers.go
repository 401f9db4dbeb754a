package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
	"github.com/millrace/millrace/services/identity"
)

// scraper is the name in the certificate of a program that reads metrics and makes no calls.
const scraper = "metrics"

// callsOf are the calls that a process may make by the name in its certificate.
func callsOf(name string) []string {
	if name == scraper {
		return []string{"/metrics"}
	}
	for _, s := range services() {
		if s.name == name {
			return s.calls
		}
	}
	return nil
}

// logins reports whether callers need a login.
func (p *process) logins() bool { return p.cfg.logins() }

func (c *config) logins() bool {
	return c.settings("identity").(identity.Configuration).Mode == identity.ModeOn
}

var errNoCertificate = connect.NewError(connect.CodeUnauthenticated,
	errors.New("this is the port of a service, which takes services by their certificates; people and programs call the dashboard's"))

// peer is the service whose certificate a request came with. The handshake has verified it.
func (p *process) peer(r *http.Request) (string, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return "", errNoCertificate
	}
	service, err := mtls.Service(r.TLS.PeerCertificates[0], p.cfg.TLS.Domain)
	if err != nil {
		return "", connect.NewError(connect.CodeUnauthenticated, err)
	}
	return service, nil
}

// sender is who sent a request to the port of a service in a process of its own: a service, or whom the dashboard
// forwarded it for.
func (p *process) sender(r *http.Request) (rights.Caller, error) {
	service, err := p.peer(r)
	if err != nil {
		return rights.Caller{}, err
	}
	arrival := rights.Arrival{Service: service, Calls: callsOf(service), Logins: p.logins()}
	person, address, forwarded, err := rpc.Forwarded(r)
	if err != nil {
		return rights.Caller{}, connect.NewError(connect.CodeUnauthenticated, err)
	}
	if forwarded {
		arrival.For = &person
	}
	who, err := rights.Sender(arrival)
	if err != nil {
		return rights.Caller{}, connect.NewError(connect.CodePermissionDenied, err)
	}
	if forwarded {
		r.RemoteAddr = address // attempts to log in are counted by it
	}
	return who, nil
}

// visitor is who sent a request to the dashboard's port; nil: there are no logins. Prometheus may come with a
// certificate there, as it does to other ports.
func (p *process) visitor() (func(*http.Request) (rights.Caller, error), error) {
	if !p.logins() {
		return nil, nil
	}
	person, err := p.person()
	if err != nil || p.credentials == nil {
		return person, err
	}
	return func(r *http.Request) (rights.Caller, error) {
		who, err := person(r)
		if err == nil && who.Role <= rights.Nobody {
			if service, err := p.peer(r); err == nil {
				return rights.AsService(service, callsOf(service)), nil
			}
		}
		return who, err
	}, nil
}

// person asks services/identity who shows a session or a token, wherever that runs.
func (p *process) person() (func(*http.Request) (rights.Caller, error), error) {
	if p.identity != nil {
		return p.identity.Who, nil
	}
	if !p.reaches("identity") {
		return nil, errors.New("identity.mode is on and identity does not run here: set endpoints.identity to its URL")
	}
	client, url := p.to("identity")
	where := p.cfg.Endpoints["identity"]
	api := identityv1connect.NewIdentityServiceClient(client, url)
	return func(r *http.Request) (rights.Caller, error) {
		shown := &identityv1.AuthenticateRequest{Authorization: r.Header.Get("Authorization"), Cookie: strings.Join(r.Header.Values("Cookie"), "; ")}
		if shown.Authorization == "" && shown.Cookie == "" {
			return rights.Anonymous, nil
		}
		answer, err := api.Authenticate(r.Context(), connect.NewRequest(shown))
		switch connect.CodeOf(err) {
		case connect.CodeUnauthenticated, connect.CodeResourceExhausted:
			return rights.Caller{}, err
		}
		if err != nil {
			return rights.Caller{}, connect.NewError(connect.CodeUnavailable, fmt.Errorf("who calls cannot be looked up: identity at %s: %w", where, err))
		}
		return rpc.CallerOf(answer.Msg.GetCaller()), nil
	}, nil
}
