package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/lab"
)

func labDumpCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "dump",
		Short: "Print the routers' kernel and FRR state, normalised for diff",
		Example: `  millrace lab dump > before
  millrace change apply ... && millrace change rollback ...
  millrace lab dump | diff before -`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := lab.Attach(name)
			if err != nil {
				return err
			}
			dump, err := l.Dump(cmd.Context())
			if err != nil {
				return err
			}
			if wantJSON(cmd) {
				return printValue(cmd, dump)
			}
			for _, node := range slices.Sorted(maps.Keys(dump)) {
				fmt.Fprintf(cmd.OutOrStdout(), "=== %s\n%s", node, dump[node])
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the lab (default: the only one that is up)")
	jsonFlag(cmd)
	return cmd
}
