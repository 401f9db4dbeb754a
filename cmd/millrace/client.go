package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/logins"
	"github.com/millrace/millrace/internal/rpc"
)

// defaultServer is where `millrace up` serves its API and dashboard.
const defaultServer = "http://127.0.0.1:8080"

// serverFlag adds --server to a command that talks to a running control plane.
func serverFlag(cmd *cobra.Command) {
	server := os.Getenv("MILLRACE_SERVER")
	if server == "" {
		server = defaultServer
	}
	cmd.PersistentFlags().String("server", server, "URL of the control plane; of its replicas, separated by commas, the first that answers (env MILLRACE_SERVER)")
}

// serversOf are the URLs that a flag lists.
func serversOf(flag string) (out []string) {
	for _, server := range strings.Split(flag, ",") {
		if server = trimmed(strings.TrimSpace(server)); server != "" {
			out = append(out, server)
		}
	}
	if len(out) == 0 {
		out = []string{defaultServer}
	}
	return out
}

// apiClient returns what generated Connect clients need to reach the control plane.
func apiClient(cmd *cobra.Command) (*http.Client, string) {
	servers := serversIn(cmd)
	return &http.Client{Transport: telling{cmd.ErrOrStderr(), logins.Transport{Servers: servers, Next: newReplicas(servers)}}}, servers[0]
}

// replicaClient is apiClient for one of the replicas, and for no other.
func replicaClient(cmd *cobra.Command, server string) *http.Client {
	all := append([]string{server}, serversIn(cmd)...)
	return &http.Client{Transport: telling{cmd.ErrOrStderr(), logins.Transport{Servers: all, Next: newReplicas([]string{server})}}}
}

func serversIn(cmd *cobra.Command) []string {
	flag, err := cmd.Flags().GetString("server")
	if err != nil {
		flag = defaultServer
	}
	return serversOf(flag)
}

// telling says beside an answer that it has more than the login is limited to.
type telling struct {
	to   io.Writer
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t telling) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if err == nil && answer.Header.Get(rpc.WholeHeader) != "" {
		fmt.Fprintf(t.to, "this is of the whole network; your login is limited to: %q\n", answer.Header.Get(rpc.WholeHeader))
	}
	return answer, err
}

// plainClient is apiClient without a login.
func plainClient(cmd *cobra.Command) (*http.Client, string) {
	servers := serversIn(cmd)
	return &http.Client{Transport: newReplicas(servers)}, servers[0]
}

// reachable replaces the error of a refused connection by one that explains how to start or reach the
// control plane.
type reachable struct{ server string }

// RoundTrip implements http.RoundTripper.
func (r reachable) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("no control plane answers at %s; start one with `millrace up`, or set its URL with --server or MILLRACE_SERVER (%w)", r.server, err)
	}
	return resp, err
}
