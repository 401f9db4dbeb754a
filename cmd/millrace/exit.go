package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes every subcommand keeps to, so that scripts can branch on them.
const (
	exitFailed = 1 // the command failed
	exitUsage  = 2 // the command line or a file it names is wrong
	exitUnmet  = 3 // the command ran to its end and the result is "no"
	// As a shell reports a program that ended by Ctrl-C.
	exitInterrupted = 130
)

// coded is an error with the exit code of the process.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

// usageErrors makes what cobra finds wrong with a command line (flags,
// arguments, an unknown command) end with exitUsage.
func usageErrors(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return coded{err, exitUsage} })
	check := cmd.Args
	if cmd.HasSubCommands() && !cmd.Runnable() {
		check = unknownCommand
		cmd.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	cmd.Args = func(c *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(c, args); err != nil {
			return coded{fmt.Errorf("%w; see `%s --help`", err, c.CommandPath()), exitUsage}
		}
		return nil
	}
	for _, sub := range cmd.Commands() {
		usageErrors(sub)
	}
}

// unknownCommand refuses what is no subcommand; cobra by itself would show the help and call it a success.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("there is no command %q; did you mean %s?", args[0], strings.Join(near, " or "))
	}
	return fmt.Errorf("there is no command %q", args[0])
}

func exitCode(err error) int {
	var c coded
	if errors.As(err, &c) {
		return c.code
	}
	return exitFailed
}
