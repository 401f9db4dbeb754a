package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func readyCommand() *cobra.Command {
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "ready",
		Short: "Check that a control plane finds what it needs",
		Long: `Asks /readyz, which needs no login: whether etcd and the bus do their work. Where they do
not, the reason is the error. --wait asks again each second until it is ready or the time is over.`,
		Example: "  millrace ready --server http://127.0.0.1:8080 --wait 1m",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, server := plainClient(cmd)
			ctx, cancel := context.WithTimeout(cmd.Context(), askTimeout+patience)
			defer cancel()
			err := askReady(ctx, client, server)
			for until := time.Now().Add(patience); err != nil && time.Now().Before(until); err = askReady(ctx, client, server) {
				if interrupted := sleep(ctx, time.Second); interrupted != nil {
					return interrupted
				}
			}
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), "ready")
			}
			return err
		},
	}
	serverFlag(cmd)
	cmd.Flags().DurationVar(&patience, "wait", 0, "how long to ask again")
	return cmd
}

// askTimeout is how long one answer may take, or the last of several.
const askTimeout = 10 * time.Second

// askReady is nil if the control plane is ready, else its own reason.
func askReady(ctx context.Context, client *http.Client, server string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, trimmed(server)+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("server %s: %w", server, err)
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	reason, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", server, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is not ready: %s", server, strings.TrimSpace(string(reason)))
	}
	return nil
}
