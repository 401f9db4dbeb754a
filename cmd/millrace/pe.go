package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/services/peagent"
	"github.com/millrace/millrace/services/peagent/datapath"
)

func peCommand() *cobra.Command {
	var file string
	var verbose, remove, probe bool
	cmd := &cobra.Command{
		Use:   "pe",
		Short: "I2VFC agent on a provider edge: VPNs share the core fairly",
		Long: "Attaches eBPF programs to customer and core ports, measures round-trip time and loss of each VPN flow with management\n" +
			"packets, and paces the flow by an AIMD window so that throughputs are proportional to the weights.\n" +
			"When it ends, traffic goes on at the last rates for fail_open and then unshaped; the next start takes over.\n" +
			"--remove removes programs, qdiscs and pinned maps from the router.",
		Example: "  millrace pe --config /etc/millrace/pe.yaml\n" +
			"  millrace pe --probe\n" +
			"  millrace pe --remove --config /etc/millrace/pe.yaml",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if probe {
				return probePE(cmd)
			}
			cfg, err := peagent.Load(file)
			if err != nil {
				return coded{err, exitUsage}
			}
			if remove {
				return peagent.Remove(cfg)
			}
			level := slog.LevelInfo
			if verbose {
				level = slog.LevelDebug
			}
			metrics := prometheus.NewRegistry()
			metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo())
			log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
			agent, err := peagent.New(cfg, peagent.Dependencies{Log: log, Registerer: metrics, Gatherer: metrics})
			if err != nil {
				return err
			}
			if err := agent.Start(cmd.Context()); err != nil {
				return fmt.Errorf("start PE agent: %w", err)
			}
			<-cmd.Context().Done()
			return agent.Stop(context.WithoutCancel(cmd.Context()))
		},
	}
	cmd.Flags().StringVar(&file, "config", "/etc/millrace/pe.yaml", "agent configuration")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "log debug messages")
	cmd.Flags().BoolVar(&remove, "remove", false, "remove programs, qdiscs and pinned maps from the router and exit")
	cmd.Flags().BoolVar(&probe, "probe", false, "probe the features of this kernel and exit")
	cmd.AddCommand(peCheckCommand())
	return cmd
}

// probePE prints the features of the kernel.
func probePE(cmd *cobra.Command) error {
	f, err := datapath.Probe()
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%-16s %s\n", "kernel", f.Kernel)
	for _, p := range []struct {
		name string
		err  error
	}{{"eBPF programs", f.Programs}, {"fq (mode edt)", f.Fq}, {"HTB (mode htb)", f.HTB}} {
		word := "works"
		if p.err != nil {
			word = p.err.Error()
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%-16s %s\n", p.name, word)
	}
	if f.Programs != nil {
		return coded{errors.New("this kernel cannot run the PE agent"), exitUnmet}
	}
	how := "interpreted: several times slower"
	if f.JIT {
		how = "compiled by the kernel (JIT)"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%-16s %s\n", "programs are", how)
	for _, name := range slices.Sorted(maps.Keys(f.Verified)) {
		fmt.Fprintf(cmd.OutOrStdout(), "%-16s %d instructions verified\n", name, f.Verified[name])
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%-16s %s\n", "mode: auto is", f.Mode())
	return nil
}
