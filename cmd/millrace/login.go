package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/millrace/millrace/internal/rights"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
)

func loginCommand() *cobra.Command {
	var name, link string
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Log in to a control plane, for the commands that follow",
		Long: `Logs in by name and password, or by a link that ` + "`millrace up`" + ` printed, and keeps a
token of 90 days in the user's own configuration (tokens.json, mode 0600). The password is read
from the terminal, or from the first line of standard input.`,
		Example: `  millrace login --name ann
  millrace login --link 'http://127.0.0.1:8080/#login=mrl_...'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (name == "") == (link == "") {
				return coded{errors.New("give --name or --link"), exitUsage}
			}
			if link != "" && !cmd.Flags().Changed("server") {
				if err := serverOfLink(cmd, link); err != nil {
					return coded{err, exitUsage}
				}
			}
			return login(cmd, name, link)
		},
	}
	serverFlag(cmd)
	cmd.Flags().StringVar(&name, "name", "", "who logs in by a password")
	cmd.Flags().StringVar(&link, "link", "", "a login link, or its code")
	return cmd
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

// login begins a session, makes a token in it, and ends the session.
func login(cmd *cobra.Command, name, link string) error {
	client, server := plainClient(cmd)
	api := identityv1connect.NewIdentityServiceClient(client, server)
	cookie, who, err := begin(cmd, api, name, link)
	if err != nil {
		return refusal(err)
	}
	machine, err := os.Hostname()
	if err != nil {
		machine = "unknown host"
	}
	create := connect.NewRequest(&identityv1.CreateTokenRequest{Name: "millrace login on " + machine})
	create.Header().Set("Cookie", cookie)
	made, err := api.CreateToken(cmd.Context(), create)
	if err != nil {
		return refusal(err)
	}
	end := connect.NewRequest(&identityv1.LogoutRequest{})
	end.Header().Set("Cookie", cookie)
	if _, err := api.Logout(cmd.Context(), end); err != nil {
		return refusal(err)
	}
	if err := saveToken(server, made.Msg.GetSecret()); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "logged in to %s as %s\n", server, who)
	return nil
}

// begin returns the session's cookie, and who logged in.
func begin(cmd *cobra.Command, api identityv1connect.IdentityServiceClient, name, link string) (cookie, who string, err error) {
	if link != "" {
		_, code, found := strings.Cut(link, "#login=")
		if !found {
			code = link
		}
		r, err := api.Redeem(cmd.Context(), connect.NewRequest(&identityv1.RedeemRequest{Code: code}))
		if err != nil {
			return "", "", err
		}
		return cookieOf(r.Header()), r.Msg.GetName() + ", " + rights.Name(r.Msg.GetRole()), nil
	}
	password, err := readPassword(cmd, "password of "+name+": ")
	if err != nil {
		return "", "", err
	}
	r, err := api.Login(cmd.Context(), connect.NewRequest(&identityv1.LoginRequest{Name: name, Password: password}))
	if err != nil {
		return "", "", err
	}
	return cookieOf(r.Header()), r.Msg.GetName() + ", " + rights.Name(r.Msg.GetRole()), nil
}

// cookieOf is the session of an answer, as a request shows it.
func cookieOf(h http.Header) string {
	cookie, _, _ := strings.Cut(h.Get("Set-Cookie"), ";")
	return cookie
}

// readPassword asks on a terminal, without showing what is typed, and else takes the next line.
func readPassword(cmd *cobra.Command, prompt string) (string, error) {
	if f, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(cmd.ErrOrStderr(), prompt)
		raw, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(cmd.ErrOrStderr())
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		return string(raw), nil
	}
	return readLine(cmd.InOrStdin())
}

// readLine takes one line and nothing after it, so that another can be read.
func readLine(r io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := io.ReadFull(r, b); err != nil && len(line) == 0 {
			return "", fmt.Errorf("read the password from standard input: %w", err)
		} else if err != nil || b[0] == '\n' {
			return strings.TrimRight(string(line), "\r"), nil
		}
		line = append(line, b[0])
	}
}

func logoutCommand() *cobra.Command {
	var everywhere bool
	cmd := &cobra.Command{
		Use:     "logout",
		Short:   "Revoke the token that `millrace login` keeps, and forget it",
		Example: "  millrace logout --everywhere",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, server := apiClient(cmd)
			if err := endLogin(cmd.Context(), cmd, server, everywhere); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "logged out of", server)
			return nil
		},
	}
	serverFlag(cmd)
	cmd.Flags().BoolVar(&everywhere, "everywhere", false, "also end every session in browsers")
	return cmd
}

// endLogin forgets the token also where the server does not know it any more.
func endLogin(ctx context.Context, cmd *cobra.Command, server string, everywhere bool) error {
	all, err := savedTokens()
	if err != nil {
		return err
	}
	token := all[trimmed(server)]
	if token == "" {
		return coded{fmt.Errorf("there is no login to %s here", server), exitFailed}
	}
	api := identityClient(cmd)
	if everywhere {
		if _, err := api.Logout(ctx, connect.NewRequest(&identityv1.LogoutRequest{Everywhere: true})); err != nil {
			return refusal(err)
		}
	}
	id := strings.Split(token, "_")
	if len(id) == 3 {
		_, err = api.RevokeToken(ctx, connect.NewRequest(&identityv1.RevokeTokenRequest{Id: id[1]}))
	}
	if err != nil && connect.CodeOf(err) != connect.CodeUnauthenticated && connect.CodeOf(err) != connect.CodeNotFound {
		return refusal(err)
	}
	return saveToken(server, "")
}

func identityClient(cmd *cobra.Command) identityv1connect.IdentityServiceClient {
	client, server := apiClient(cmd)
	return identityv1connect.NewIdentityServiceClient(client, server)
}
