package main

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/version"
	"github.com/millrace/millrace/services/dashboard"
)

func versionCommand() *cobra.Command {
	var short bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print what this program was built from",
		Long:    "Prints the semantic version, the commit and its date, the version of Go and the platform.",
		Example: "  millrace version --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if short {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), version.Get().Version)
				return err
			}
			if !wantJSON(cmd) {
				_, err := fmt.Fprint(cmd.OutOrStdout(), version.Get())
				return err
			}
			return writeJSON(cmd.OutOrStdout(), version.Get())
		},
	}
	jsonFlag(cmd)
	cmd.Flags().BoolVar(&short, "short", false, "print the version alone")
	return cmd
}

// buildInfo is the metric that tells versions of processes apart; it is always 1.
func buildInfo() prometheus.Collector {
	i := version.Get()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_build_info", Help: "What this process was built from; always 1.",
		ConstLabels: prometheus.Labels{"version": i.Version, "commit": i.Commit, "go": i.Go, "platform": i.Platform},
	}, func() float64 { return 1 })
}

// versionPage is for the dashboard's foot and for millrace doctor. Who has no login learns no version, which would tell
// what is known to be broken in it.
func versionPage() dashboard.Mount {
	return dashboard.Mount{
		Path: "GET " + version.Path, Handler: http.HandlerFunc(version.Serve),
		Call: func(r *http.Request) rights.Call { return rights.Page(r.URL.Path, rights.Viewer) },
	}
}
