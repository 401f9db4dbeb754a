package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/trace"
	"github.com/millrace/millrace/services/routeragent"
)

func agentCommand() *cobra.Command {
	var file string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "gNMI target on a router of Linux and FRR",
		Long: "Serves gNMI with OpenConfig over mutually authenticated TLS and applies it to the kernel and FRR.\n" +
			"When it stops, the router keeps forwarding as configured; the next start takes over.",
		Example: "  millrace agent --config /etc/millrace/agent.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := routeragent.Load(file)
			if err != nil {
				return coded{err, exitUsage}
			}
			level := slog.LevelInfo
			if verbose {
				level = slog.LevelDebug
			}
			log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
			// Memory bounds what readers may hold; garbage beside it is collected before it is as much again.
			debug.SetMemoryLimit(2 * int64(cfg.Memory))
			prometheus.MustRegister(buildInfo())
			agent, err := routeragent.New(cfg, routeragent.Dependencies{Log: log, Registerer: prometheus.DefaultRegisterer, Gatherer: prometheus.DefaultGatherer})
			if err != nil {
				return err
			}
			stop, err := trace.Start(cmd.Context(), cfg.Tracing, "millrace-agent", log)
			if err != nil {
				return err
			}
			if err := agent.Start(cmd.Context()); err != nil {
				return fmt.Errorf("start router agent: %w", err)
			}
			<-cmd.Context().Done()
			ended := context.WithoutCancel(cmd.Context())
			return errors.Join(agent.Stop(ended), stop(ended))
		},
	}
	cmd.Flags().StringVar(&file, "config", "/etc/millrace/agent.yaml", "agent configuration")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "log every change made to the kernel")
	cmd.AddCommand(agentCheckCommand(), agentCopyCommand())
	return cmd
}
