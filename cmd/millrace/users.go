package main

import (
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/rights"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

func usersCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "users", Short: "People and their roles"}
	serverFlag(cmd)
	cmd.AddCommand(usersListCommand(), usersPutCommand(), usersDeleteCommand(), usersPasswordCommand())
	return cmd
}

func usersListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List people", Example: "  millrace users list", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := identityClient(cmd).ListUsers(cmd.Context(), connect.NewRequest(&identityv1.ListUsersRequest{}))
			if err != nil {
				return refusal(err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			for _, u := range r.Msg.GetUsers() {
				password := "no password"
				if u.GetHasPassword() {
					password = "password"
				}
				if u.GetIssuer() != "" {
					password = "by " + u.GetIssuer() + ", not confirmed"
				}
				if u.GetConfirmedAt() != nil {
					password = "by " + u.GetIssuer() + ", confirmed " + u.GetConfirmedAt().AsTime().Format(time.RFC3339)
				}
				limits := rights.Limits{Grants: rights.GrantsFrom(u.GetGrants())}.String()
				if limits != "" {
					limits = "  " + limits
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%-24s %-9s %s%s\n", u.GetName(), rights.Name(u.GetRole()), password, limits)
			}
			return nil
		},
	}
	jsonFlag(cmd)
	return cmd
}

func usersPutCommand() *cobra.Command {
	var role string
	var scope []string
	cmd := &cobra.Command{
		Use:   "put NAME",
		Short: "Add a person, or give another role and scope",
		Long: `Adds a person, or gives another role. With --scope the role holds for the routers, VPNs
and policies that are named, and for no others: a kind that is not named is nothing of
that kind. Without it the role holds everywhere, also where it was limited before.`,
		Example: "  millrace users put ann --role approver\n  millrace users put bob --role operator --scope 'router=edge-*' --scope policy=te", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			as, err := roleNamed(role)
			if err != nil {
				return err
			}
			within, err := rights.ParseScope(scope)
			if err != nil {
				return coded{fmt.Errorf("--scope: %w", err), exitUsage}
			}
			r, err := identityClient(cmd).PutUser(cmd.Context(), connect.NewRequest(&identityv1.PutUserRequest{
				Name: args[0], Role: as, Scope: rights.ScopeMessage(within),
			}))
			if err != nil {
				return refusal(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is %s%s\n", r.Msg.GetUser().GetName(), role, limitedTo(within))
			if !r.Msg.GetUser().GetHasPassword() {
				fmt.Fprintf(cmd.OutOrStdout(), "and cannot log in yet: millrace users password %s\n", args[0])
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&role, "role", "viewer", "viewer, operator, approver or admin")
	scopeFlag(cmd, &scope)
	return cmd
}

func scopeFlag(cmd *cobra.Command, scope *[]string) {
	cmd.Flags().StringArrayVar(scope, "scope", nil, "limit the role to router=PATTERN, vpn=PATTERN or policy=PATTERN; may be given several times")
}

// limitedTo is for people; empty where nothing is limited.
func limitedTo(s rights.Scope) string {
	if s.All() {
		return ""
	}
	return " for " + s.String()
}

// roleNamed is the role that a flag names.
func roleNamed(name string) (rights.Role, error) {
	role, ok := rights.Named(name)
	if !ok {
		var names []string
		for _, r := range rights.Roles {
			names = append(names, rights.Name(r))
		}
		return role, coded{fmt.Errorf("there is no role %q; there are %s", name, strings.Join(names, ", ")), exitUsage}
	}
	return role, nil
}

func usersDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Remove a person, with all sessions and tokens", Example: "  millrace users delete ann", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := identityClient(cmd).DeleteUser(cmd.Context(), connect.NewRequest(&identityv1.DeleteUserRequest{Name: args[0]})); err != nil {
				return refusal(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is gone, with all sessions and tokens\n", args[0])
			return nil
		},
	}
}

func usersPasswordCommand() *cobra.Command {
	var old bool
	var by who
	cmd := &cobra.Command{
		Use:   "password [NAME]",
		Short: "Set a password, and end all sessions of that person",
		Long: `Sets one's own password, or as an admin somebody else's. A token may not do this, so it
logs in first: it asks for the password of who sets it, then for the new one, on the
terminal or in the lines of standard input.`,
		Example: "  millrace users password --link 'http://127.0.0.1:8080/#login=mrl_...'\n  millrace users password ann --as admin", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return by.do(cmd, func(s *session) error {
				request := &identityv1.SetPasswordRequest{Name: strings.Join(args, ""), Old: s.password}
				var err error
				if old && s.password == "" {
					if request.Old, err = readPassword(cmd, "present password: "); err != nil {
						return err
					}
				}
				if request.New, err = readPassword(cmd, "new password: "); err != nil {
					return err
				}
				if _, err := s.SetPassword(cmd.Context(), asOf(s, request)); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), "the password is set")
				return nil
			})
		},
	}
	by.flags(cmd)
	cmd.Flags().BoolVar(&old, "old", false, "with --link: ask for the present password, which setting one's own needs where there is one")
	return cmd
}
