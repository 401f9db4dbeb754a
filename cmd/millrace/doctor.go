package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/doctor"
	"github.com/millrace/millrace/internal/doctor/examine"
	"github.com/millrace/millrace/internal/version"
)

func doctorCommand() *cobra.Command {
	var x examination
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check an installation, and print what is wrong with it and what to do about it",
		Long: `Looks at this host's kernel and clock and asks the control plane about its stores,
certificates, routers, exporters and version, for which a token of the role viewer does.
With --config also at what a control plane of this file needs from here: disk,
certificates, etcd, Kafka, ClickHouse, and each router over gNMI. With --agent also at what
the router agent of this file needs of its kernel, for which it must be root.
Nothing is changed. Exit code 3 if something is wrong; warnings alone are 0.`,
		Example: "  millrace doctor\n  millrace doctor --config /etc/millrace/millrace.yaml\n  millrace doctor --agent /etc/millrace/agent.yaml --offline",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := x.examine(cmd)
			if wantJSON(cmd) {
				if err := writeJSON(cmd.OutOrStdout(), found); err != nil {
					return err
				}
			} else if err := printFindings(cmd.OutOrStdout(), found); err != nil {
				return err
			}
			if n := doctor.Count(found, doctor.Wrong); n > 0 {
				return coded{fmt.Errorf("%d of %d things that were looked at are wrong", n, len(found)), exitUnmet}
			}
			return nil
		},
	}
	serverFlag(cmd)
	jsonFlag(cmd)
	x.flags(cmd)
	return cmd
}

// examination is where to look.
type examination struct {
	config, agent string
	offline       bool
	// patience is how long a control plane may take for one answer.
	patience time.Duration
}

func (x *examination) flags(cmd *cobra.Command) {
	x.patience = askTimeout
	cmd.Flags().StringVar(&x.config, "config", "", "also look at what a control plane of this configuration needs")
	cmd.Flags().StringVar(&x.agent, "agent", "", "also look at what a router agent of this configuration needs")
	cmd.Flags().BoolVar(&x.offline, "offline", false, "ask no control plane")
}

// examine looks everywhere, and goes on where something cannot be looked at: that is a finding, too.
func (x *examination) examine(cmd *cobra.Command) []doctor.Finding {
	found := examine.Host()
	if x.config != "" {
		found = append(found, examineConfig(cmd.Context(), x.config)...)
	}
	if x.agent != "" {
		found = append(found, examineAgent(x.agent)...)
	}
	if !x.offline {
		for _, server := range serversIn(cmd) {
			client := replicaClient(cmd, server)
			client.Timeout = x.patience
			found = append(found, examineServer(cmd, client, server)...)
		}
	}
	doctor.Sort(found)
	return once(found) // what replicas say of the same router is the same
}

// once leaves out what was found before.
func once(all []doctor.Finding) (out []doctor.Finding) {
	for _, f := range all {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// examineServer asks a running control plane, or one replica of it.
func examineServer(cmd *cobra.Command, client *http.Client, server string) []doctor.Finding {
	begin := time.Now()
	err := askReady(cmd.Context(), client, server)
	found := []doctor.Finding{doctor.Answered("control plane", server, err, "Start it, or name it with --server; /readyz has the reason.", "MillraceDown")}
	if err != nil {
		return found
	}
	took := time.Since(begin)
	body, header, err := page(cmd, client, server+version.Path)
	if err != nil {
		return append(found, refused(server, err))
	}
	if at, err := http.ParseTime(header.Get("Date")); err == nil {
		found = append(found, doctor.Apart("clock", server, at, begin, took))
	}
	var theirs version.Info
	if err := json.NewDecoder(body).Decode(&theirs); err == nil {
		found = append(found, doctor.Versions(server, version.Get().Version, theirs.Version))
	}
	body, _, err = page(cmd, client, server+"/metrics")
	if err != nil {
		return append(found, refused(server, err))
	}
	all, err := doctor.ReadMetrics(body)
	if err != nil {
		return append(found, refused(server, err))
	}
	judged := doctor.Judge(all, time.Now())
	for i := range judged {
		if judged[i].Subject == "" && len(serversIn(cmd)) > 1 {
			judged[i].Subject = server // it is about the process, of which there are several
		}
	}
	return append(found, judged...)
}

// refused is about a control plane that answers, and not to us.
func refused(server string, err error) doctor.Finding {
	return doctor.Finding{Area: "control plane", Subject: server, Level: doctor.Warning, What: err.Error(),
		Do: "Log in with `millrace login`, or set MILLRACE_TOKEN to a token of the role viewer."}
}

// largestPage is more than the metrics of 1,000 exporters are.
const largestPage = 64 << 20

// page is what a path of the control plane answers.
func page(cmd *cobra.Command, client *http.Client, url string) (io.Reader, http.Header, error) {
	r, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, url, nil)
	if err != nil {
		return nil, nil, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, largestPage))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", r.URL.Path, answer.Status)
	}
	return bytes.NewReader(body), answer.Header, err
}

// printFindings prints what is to be done below what is not as it should be.
func printFindings(out io.Writer, found []doctor.Finding) error {
	var err error
	line := func(format string, a ...any) {
		_, e := fmt.Fprintf(out, format, a...)
		err = errors.Join(err, e)
	}
	for _, f := range found {
		line("%-8s %s", f.Level, f.Area)
		if f.Subject != "" {
			line(" %s", f.Subject)
		}
		line(": %s\n", f.What)
		if f.Do != "" {
			line("         %s\n", f.Do)
		}
		if f.Runbook != "" {
			line("         docs/runbooks/%s.md\n", f.Runbook)
		}
	}
	line("%d ok, %d warnings, %d wrong\n", doctor.Count(found, doctor.OK), doctor.Count(found, doctor.Warning), doctor.Count(found, doctor.Wrong))
	return err
}
