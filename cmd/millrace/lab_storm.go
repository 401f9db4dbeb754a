package main

import (
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/lab/experiments/storm"
	"github.com/millrace/millrace/scenario"
)

// runStorm runs a scenario that is a crowd of requests for circuits.
func runStorm(cmd *cobra.Command, s *scenario.Scenario, f labFlags, _ loopFlags) error {
	output, err := outputOf(s, f)
	if err != nil {
		return err
	}
	result, err := storm.Run(cmd.Context(), s, storm.Options{Output: output, Progress: progress(cmd)})
	if err != nil {
		return err
	}
	return printJudged(cmd, result)
}

// labEtcdCommand is a member of a storm's etcd: this binary started again.
func labEtcdCommand() *cobra.Command {
	m := storm.Member{}
	cmd := &cobra.Command{
		Use:    "etcd",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return m.Serve(cmd.Context()) },
	}
	cmd.Flags().StringVar(&m.Name, "name", "", "name of the member")
	cmd.Flags().StringVar(&m.Dir, "dir", "", "data folder")
	cmd.Flags().StringVar(&m.Client, "client", "", "URL for clients")
	cmd.Flags().StringVar(&m.Peer, "peer", "", "URL for the other members")
	cmd.Flags().StringVar(&m.Cluster, "cluster", "", "all members, NAME=PEER,…")
	return cmd
}
