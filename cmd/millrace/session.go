package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/rights"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
)

// session is a login of one command, for what a token may not do.
type session struct {
	identityv1connect.IdentityServiceClient
	servers      []string
	cookie, name string
	role         rights.Role
	// password is the one that began it; empty after a link.
	password string
}

// asOf makes a request the session's.
func asOf[T any](s *session, message *T) *connect.Request[T] {
	r := connect.NewRequest(message)
	r.Header().Set("Cookie", s.cookie)
	return r
}

// end ends it, where it has not ended.
func (s *session) end(ctx context.Context) error {
	_, err := s.Logout(ctx, asOf(s, &identityv1.LogoutRequest{}))
	if connect.CodeOf(err) == connect.CodeUnauthenticated {
		return nil
	}
	return err
}

// who logs in for one command.
type who struct{ name, link string }

func (w *who) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.name, "as", "", "who logs in by a password for it; by default who `millrace login` logged in")
	cmd.Flags().StringVar(&w.link, "link", "", "log in for it by a login link, or its code")
}

// do begins a session, gives it to what needs one, and ends it also where that failed.
func (w *who) do(cmd *cobra.Command, use func(*session) error) error {
	if w.name == "" && w.link == "" {
		r, err := identityClient(cmd).WhoAmI(cmd.Context(), connect.NewRequest(&identityv1.WhoAmIRequest{}))
		if err != nil {
			return refusal(err)
		}
		if w.name = r.Msg.GetName(); w.name == "" {
			return coded{errors.New("this needs a login by a password or a link: give --as or --link"), exitUsage}
		}
		if r.Msg.GetByProvider() {
			w.name = ""
		}
	}
	s, err := begin(cmd, w.name, w.link)
	if err != nil {
		return refusal(err)
	}
	if err := use(s); err != nil {
		return errors.Join(refusal(err), s.end(cmd.Context()))
	}
	return s.end(cmd.Context())
}

// begin logs in: by a link or a password, and without either by the control plane's OpenID provider.
func begin(cmd *cobra.Command, name, link string) (*session, error) {
	if link != "" && !cmd.Flags().Changed("server") {
		if err := serverOfLink(cmd, link); err != nil {
			return nil, coded{err, exitUsage}
		}
	}
	client, server := plainClient(cmd)
	s := &session{IdentityServiceClient: identityv1connect.NewIdentityServiceClient(client, server), servers: serversIn(cmd)}
	if link != "" {
		_, code, found := strings.Cut(link, "#login=")
		if !found {
			code = link
		}
		r, err := s.Redeem(cmd.Context(), connect.NewRequest(&identityv1.RedeemRequest{Code: code}))
		if err != nil {
			return nil, err
		}
		s.cookie, s.name, s.role = cookieOf(r.Header()), r.Msg.GetName(), r.Msg.GetRole()
		return s, nil
	}
	if name == "" {
		return s, byDevice(cmd, s)
	}
	password, err := readPassword(cmd, "password of "+name+": ")
	if err != nil {
		return nil, err
	}
	r, err := s.Login(cmd.Context(), connect.NewRequest(&identityv1.LoginRequest{Name: name, Password: password}))
	if err != nil {
		return nil, err
	}
	s.cookie, s.name, s.role, s.password = cookieOf(r.Header()), r.Msg.GetName(), r.Msg.GetRole(), password
	return s, nil
}

// serverOfLink takes the server from the link, where it has one.
func serverOfLink(cmd *cobra.Command, link string) error {
	u, err := url.Parse(link)
	if err != nil {
		return fmt.Errorf("--link: %w", err)
	}
	if u.Host == "" {
		return nil // the code alone
	}
	return cmd.Flags().Set("server", u.Scheme+"://"+u.Host)
}

// cookieOf is the session of an answer, as a request shows it.
func cookieOf(h http.Header) string {
	cookie, _, _ := strings.Cut(h.Get("Set-Cookie"), ";")
	return cookie
}
