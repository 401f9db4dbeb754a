package main

import (
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rights"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

func tokensCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "tokens", Short: "Tokens that let programs in"}
	serverFlag(cmd)
	cmd.AddCommand(tokensListCommand(), tokensCreateCommand(), tokensRevokeCommand())
	return cmd
}

func tokensListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List one's tokens, or as an admin all", Example: "  millrace tokens list", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := identityClient(cmd).ListTokens(cmd.Context(), connect.NewRequest(&identityv1.ListTokensRequest{}))
			if err != nil {
				return refusal(err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			for _, t := range r.Msg.GetTokens() {
				used := "never used"
				if t.GetLastUsedAt() != nil {
					used = "used " + t.GetLastUsedAt().AsTime().Format(time.RFC3339)
				}
				apis := "all APIs"
				if len(t.GetApis()) > 0 {
					apis = strings.Join(t.GetApis(), ",")
				}
				apis += limitedTo(rights.ScopeOf(t.GetScope()))
				fmt.Fprintf(cmd.OutOrStdout(), "%s  %s  %s  %s  until %s  %s  %s\n", t.GetId(), t.GetUser(), rights.Name(t.GetRole()), apis,
					t.GetExpiresAt().AsTime().Format(time.RFC3339), used, t.GetName())
			}
			return nil
		},
	}
	jsonFlag(cmd)
	return cmd
}

func tokensCreateCommand() *cobra.Command {
	var role string
	var apis, scope []string
	var life time.Duration
	var by who
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a token, and print it this once",
		Long: `Makes a token of one's own, with at most one's own role. A program shows it as
"Authorization: Bearer TOKEN"; the millrace command takes it from MILLRACE_TOKEN.
A token makes no token, so this logs in first: the password is asked for.`,
		Example: "  millrace tokens create \"circuits of the archive\" --role operator --api circuits --expires 720h",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			as, err := roleNamed(role)
			if err != nil {
				return err
			}
			within, err := rights.ParseScope(scope)
			if err != nil {
				return coded{fmt.Errorf("--scope: %w", err), exitUsage}
			}
			return by.do(cmd, func(s *session) error {
				r, err := s.CreateToken(cmd.Context(), asOf(s, &identityv1.CreateTokenRequest{
					Name: args[0], Role: as, Apis: apis, ExpiresAt: timestamppb.New(time.Now().Add(life)), Scope: rights.ScopeMessage(within),
				}))
				if err == nil {
					fmt.Fprintln(cmd.OutOrStdout(), r.Msg.GetSecret())
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&role, "role", "viewer", "viewer, operator, approver or admin")
	cmd.Flags().StringSliceVar(&apis, "api", nil, "limit it to an API, such as circuits; may be given several times")
	scopeFlag(cmd, &scope)
	by.flags(cmd)
	cmd.Flags().DurationVar(&life, "expires", 90*24*time.Hour, "how long it can be used")
	return cmd
}

func tokensRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "End a token at once", Example: "  millrace tokens revoke k3v7q2m5x4ab", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := identityClient(cmd).RevokeToken(cmd.Context(), connect.NewRequest(&identityv1.RevokeTokenRequest{Id: args[0]})); err != nil {
				return refusal(err)
			}
			fmt.Fprintln(cmd.OutOrStdout(), args[0], "is revoked")
			return nil
		},
	}
}
