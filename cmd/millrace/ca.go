package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/ca"
	"github.com/millrace/millrace/internal/mtls"
)

// Lives of certificates.
const (
	caLife      = 5 * 365 * 24 * time.Hour
	serviceLife = 30 * 24 * time.Hour
)

func caCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ca",
		Short: "A small certificate authority for services, where a site has none",
	}
	cmd.AddCommand(caInitCommand(), caIssueCommand(), caRotateCommand(), caRevokeCommand(), caListCommand())
	return cmd
}

func caInitCommand() *cobra.Command {
	var life time.Duration
	cmd := &cobra.Command{
		Use:     "init FOLDER",
		Short:   "Make a CA: ca.key, which only its owner reads, and ca.crt",
		Example: "  millrace ca init /etc/millrace/ca",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := ca.Init(args[0], life, time.Now()); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "made a CA in %s; keep %s off the hosts of services\n", args[0], filepath.Join(args[0], "ca.key"))
			return nil
		},
	}
	lifeFlag(cmd, &life, caLife, "how long the CA is valid")
	return cmd
}

func caIssueCommand() *cobra.Command {
	var out, domain string
	var hosts []string
	var life time.Duration
	cmd := &cobra.Command{
		Use:   "issue FOLDER [SERVICE...]",
		Short: "Sign new certificates for services, all by default",
		Long: `Writes tls.crt, tls.key, ca.crt and crl.pem, the list of revoked certificates, into OUT/SERVICE for each
service, with a new key. The list is signed anew first, so that it does not run out. Services read
changed files by themselves, so this is also how certificates are renewed. "` + scraper + `" is a
certificate for Prometheus.`,
		Example: `  millrace ca issue /etc/millrace/ca --out /etc/millrace/tls
  millrace ca issue /etc/millrace/ca dashboard --out /etc/millrace/tls --host noc.example.net`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			known := append(serviceNames(), scraper)
			names := args[1:]
			if len(names) == 0 {
				names = known
			}
			for _, name := range names {
				if !slices.Contains(known, name) {
					return coded{fmt.Errorf("no service is called %s; there are %s", name, strings.Join(known, ", ")), exitUsage}
				}
			}
			a, err := ca.Open(args[0])
			if err != nil {
				return err
			}
			if _, err := a.Revoke(ca.Revoked{}, ca.ListLife, time.Now()); err != nil {
				return err
			}
			for _, name := range names {
				c := ca.Certificate{Names: append([]string{mtls.ServiceName(name, domain)}, hosts...), Life: life}
				until, err := a.Issue(filepath.Join(out, name), c, time.Now())
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s until %s\n", filepath.Join(out, name), until.UTC().Format(time.RFC3339))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "tls", "folder with a folder for each service")
	cmd.Flags().StringVar(&domain, "domain", "millrace", "tls.domain of the configuration")
	cmd.Flags().StringArrayVar(&hosts, "host", nil, "name or address beside the service's, such as that of the dashboard for browsers")
	lifeFlag(cmd, &life, serviceLife, "how long the certificates are valid")
	return cmd
}

// afterStep is what to do before the next step.
var afterStep = map[ca.Step]string{
	ca.Announced: "a next CA is made, and ca.crt has both: issue for every service, wait until all have read it, then rotate again",
	ca.Switched:  "the next CA signs from now on: issue for every service, wait until all have read it, then rotate again",
	ca.Finished:  "ca.crt has the new CA alone: issue for every service; the rotation is over",
}

func caRotateCommand() *cobra.Command {
	var life time.Duration
	cmd := &cobra.Command{
		Use:   "rotate FOLDER",
		Short: "Do the next of the three steps to another CA",
		Long: `A rotation has three steps, one for each call of this command: a next CA is trusted, it signs, the
former is not trusted any more. After each step every service gets certificates (millrace ca issue)
before the next one, so that no two services ever refuse each other.`,
		Example: "  millrace ca rotate /etc/millrace/ca && millrace ca issue /etc/millrace/ca --out /etc/millrace/tls",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := ca.Open(args[0])
			if err != nil {
				return err
			}
			step, err := a.Rotate(life, time.Now())
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", step, afterStep[step])
			return nil
		},
	}
	lifeFlag(cmd, &life, caLife, "how long the next CA is valid")
	return cmd
}
