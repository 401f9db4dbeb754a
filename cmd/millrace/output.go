package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// jsonFlag adds --json, which every command that prints data has.
func jsonFlag(cmd *cobra.Command) {
	cmd.Flags().Bool("json", false, "print JSON instead of text")
}

func wantJSON(cmd *cobra.Command) bool {
	on, err := cmd.Flags().GetBool("json")
	return err == nil && on
}

// printJSON writes a message the way the API's JSON form shows it.
func printJSON(cmd *cobra.Command, m proto.Message) error {
	raw, err := protojson.MarshalOptions{Multiline: true, EmitUnpopulated: true}.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode answer as JSON: %w", err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), string(raw))
	return err
}

// writeJSON writes what is no message of an API.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
