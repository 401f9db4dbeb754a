package main

import "github.com/spf13/cobra"

func labCommand() *cobra.Command { return &cobra.Command{Use: "lab"} }
