package main

import "errors"

// Exit codes every subcommand keeps to, so that scripts can branch on them.
const (
	exitFailed = 1 // the command could not do what it was asked
	exitUsage  = 2 // the command line or a file it names is wrong
	exitUnmet  = 3 // the command ran to its end and the result is "no"
	// As a shell reports a program that ended by Ctrl-C.
	exitInterrupted = 130
)

// coded is an error that knows the exit code it should end the process with.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

func exitCode(err error) int {
	var c coded
	if errors.As(err, &c) {
		return c.code
	}
	return exitFailed
}
