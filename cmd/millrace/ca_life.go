package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
)

// lifeFlag adds --life to a command that signs something.
func lifeFlag(cmd *cobra.Command, life *time.Duration, by time.Duration, usage string) {
	*life = by
	cmd.Flags().Var((*lifeValue)(life), "life", usage)
}

// lifeValue is a duration that something can be valid for: what is over before it began would be written over what is
// good, and taken by nobody.
type lifeValue time.Duration

// Set implements pflag.Value.
func (l *lifeValue) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err == nil && d <= 0 {
		err = errors.New("write how long it is to be valid, such as 720h")
	}
	if err == nil {
		*l = lifeValue(d)
	}
	return err
}

func (l *lifeValue) String() string { return time.Duration(*l).String() }

// Type is that of other durations in the help.
func (*lifeValue) Type() string { return "duration" }
