package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func replicasCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replicas",
		Short: "Print which replica of each service leads, and which share its work",
		Long: `Asks /replicas, which reads the elections in etcd. A replica's name is its host, the number of its
process, and chance. What replicas of each service do: docs/reference/replicas.md.`,
		Example: "  millrace replicas --server https://te1.example.net:8080,https://te2.example.net:8080",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := askSharing(cmd)
			if err != nil {
				return err
			}
			if wantJSON(cmd) {
				return writeJSON(cmd.OutOrStdout(), all)
			}
			return printSharing(cmd.OutOrStdout(), all)
		},
	}
	serverFlag(cmd)
	jsonFlag(cmd)
	return cmd
}

func askSharing(cmd *cobra.Command) (all []shared, err error) {
	client, server := apiClient(cmd)
	r, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, trimmed(server)+sharingPath, nil)
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", server, err)
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer of %s: %w", server, err)
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", answer.Status, strings.TrimSpace(string(raw)))
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("the answer of %s: %w", server, err)
	}
	return all, nil
}

func printSharing(out io.Writer, all []shared) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "SERVICE\tREPLICAS\tNOW")
	for _, s := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Service, s.Kind, s.now())
	}
	return w.Flush()
}

// now is who leads, or who shares, in words.
func (s shared) now() string {
	switch {
	case s.Led:
		return cmp.Or(s.Leader, "nobody") + " leads"
	case len(s.Members) > 0:
		return "shared by " + strings.Join(s.Members, ", ")
	}
	return "-"
}
