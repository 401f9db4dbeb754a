package main

import (
	"net/http"
	"os"

	"github.com/spf13/cobra"
)

// defaultServer is where `millrace up` serves its API and dashboard.
const defaultServer = "http://127.0.0.1:8080"

// serverFlag adds --server to a command that talks to a running control plane.
func serverFlag(cmd *cobra.Command) {
	server := os.Getenv("MILLRACE_SERVER")
	if server == "" {
		server = defaultServer
	}
	cmd.PersistentFlags().String("server", server, "URL of the control plane (env MILLRACE_SERVER)")
}

// apiClient returns what generated Connect clients need to reach the control plane.
func apiClient(cmd *cobra.Command) (*http.Client, string) {
	server, err := cmd.Flags().GetString("server")
	if err != nil {
		server = defaultServer
	}
	return http.DefaultClient, server
}
