package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/millrace/millrace/internal/logins"
	"github.com/millrace/millrace/internal/rights"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
)

func loginCommand() *cobra.Command {
	var name, link string
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Log in to a control plane, for the commands that follow",
		Long: `Logs in by the OpenID provider of the control plane: prints a URL and a code, which any
browser on any host can confirm. With --name it logs in by a password instead, which is read from
the terminal, or from the first line of standard input; with --link by a link that ` + "`millrace up`" + `
printed. It keeps a token of 90 days in the user's own configuration (tokens.json, mode 0600).`,
		Example: `  millrace login --server https://millrace.example.net
  millrace login --name ann
  millrace login --link 'http://127.0.0.1:8080/#login=mrl_...'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if name != "" && link != "" {
				return coded{errors.New("give one of --name and --link"), exitUsage}
			}
			return login(cmd, name, link)
		},
	}
	serverFlag(cmd)
	cmd.Flags().StringVar(&name, "name", "", "who logs in by a password")
	cmd.Flags().StringVar(&link, "link", "", "a login link, or its code")
	return cmd
}

// login begins a session, makes a token in it, and ends the session. The token is kept before anything else can fail,
// and the one that it replaces is revoked.
func login(cmd *cobra.Command, name, link string) error {
	s, err := begin(cmd, name, link)
	if err != nil {
		return refusal(err)
	}
	machine, err := os.Hostname()
	if err != nil {
		machine = "unknown host"
	}
	before, err := logins.Of(s.servers)
	if err != nil {
		return errors.Join(err, s.end(cmd.Context()))
	}
	made, err := s.CreateToken(cmd.Context(), asOf(s, &identityv1.CreateTokenRequest{Name: "millrace login on " + machine}))
	if err != nil {
		return errors.Join(refusal(err), s.end(cmd.Context()))
	}
	if err := logins.Save(s.servers, made.Msg.GetSecret()); err != nil {
		return errors.Join(err, s.end(cmd.Context()))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "logged in to %s as %s, %s\n", namesOf(s.servers), s.name, rights.Name(s.role))
	for _, old := range before {
		if _, err := revokeSaved(cmd, old); err != nil {
			return errors.Join(fmt.Errorf("the token of the login before is not revoked: %w", err), s.end(cmd.Context()))
		}
	}
	return s.end(cmd.Context())
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
	var by who
	cmd := &cobra.Command{
		Use:   "logout",
		Short: "Revoke the token that `millrace login` keeps, and forget it",
		Long: `Revokes the token that ` + "`millrace login`" + ` keeps for the server, also where MILLRACE_TOKEN
is set, and forgets it. --everywhere logs in once more, because a token may not end
other logins, and ends every session of that person.`,
		Example: "  millrace logout --everywhere",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if everywhere && by.name == "" && by.link == "" {
				by.name = savedName(cmd)
			}
			if err := endLogin(cmd); err != nil || !everywhere {
				return err
			}
			return by.do(cmd, func(s *session) error {
				r, err := s.Logout(cmd.Context(), asOf(s, &identityv1.LogoutRequest{Everywhere: true}))
				if err == nil {
					fmt.Fprintln(cmd.OutOrStdout(), "sessions that have ended:", r.Msg.GetEnded()-1)
				}
				return err
			})
		},
	}
	serverFlag(cmd)
	cmd.Flags().BoolVar(&everywhere, "everywhere", false, "also end every session in browsers")
	by.flags(cmd)
	return cmd
}

// endLogin forgets the token also where the server does not know it any more, and says so.
func endLogin(cmd *cobra.Command) error {
	servers := serversIn(cmd)
	tokens, err := logins.Of(servers)
	if err != nil {
		return err
	}
	if len(tokens) == 0 {
		return coded{fmt.Errorf("there is no login to %s here", namesOf(servers)), exitFailed}
	}
	ended := false
	for _, token := range tokens {
		revoked, err := revokeSaved(cmd, token)
		if err != nil {
			return refusal(err)
		}
		ended = ended || revoked
	}
	if err := logins.Save(servers, ""); err != nil {
		return err
	}
	if !ended {
		fmt.Fprintf(cmd.OutOrStdout(), "forgot the token of %s, which was expired or revoked before\n", namesOf(servers))
		return nil
	}
	fmt.Fprintln(cmd.OutOrStdout(), "logged out of", namesOf(servers))
	return nil
}

// namesOf are servers as people read them.
func namesOf(servers []string) string { return strings.Join(servers, ", ") }

// revokeSaved revokes a token by itself, and reports whether the server still took it.
func revokeSaved(cmd *cobra.Command, token string) (bool, error) {
	parts := strings.Split(token, "_")
	if len(parts) != 3 {
		return false, nil
	}
	_, err := savedClient(cmd, token).RevokeToken(cmd.Context(), connect.NewRequest(&identityv1.RevokeTokenRequest{Id: parts[1]}))
	if code := connect.CodeOf(err); err != nil && (code == connect.CodeUnauthenticated || code == connect.CodeNotFound) {
		return false, nil
	}
	return err == nil, err
}

// savedName is whose the saved token is, where the server takes it.
func savedName(cmd *cobra.Command) string {
	tokens, err := logins.Of(serversIn(cmd))
	if err != nil || len(tokens) == 0 {
		return ""
	}
	r, err := savedClient(cmd, tokens[0]).WhoAmI(cmd.Context(), connect.NewRequest(&identityv1.WhoAmIRequest{}))
	if err != nil {
		return ""
	}
	return r.Msg.GetName()
}

// savedClient shows one token, whatever MILLRACE_TOKEN is.
func savedClient(cmd *cobra.Command, token string) identityv1connect.IdentityServiceClient {
	client, server := plainClient(cmd)
	client.Transport = logins.One{Token: token, Next: client.Transport}
	return identityv1connect.NewIdentityServiceClient(client, server)
}

func identityClient(cmd *cobra.Command) identityv1connect.IdentityServiceClient {
	client, server := apiClient(cmd)
	return identityv1connect.NewIdentityServiceClient(client, server)
}
