package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/services/peagent"
	"github.com/millrace/millrace/services/routeragent"
)

func agentCheckCommand() *cobra.Command {
	return checkFiles("agent.yaml", "millrace agent", func(file string) error {
		_, err := routeragent.Load(file)
		return err
	})
}

func peCheckCommand() *cobra.Command {
	return checkFiles("pe.yaml", "millrace pe", func(file string) error {
		_, err := peagent.Load(file)
		return err
	})
}

// checkFiles is a command that reads configurations of an agent anywhere, before they come to a router.
func checkFiles(what, agent string, load func(file string) error) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "Read configurations, and say what is wrong with them",
		Long: "Reads each file as " + what + ", and says what is wrong with it: keys that there are not, values that cannot be. What the files name\n" +
			"is not opened, so that this runs on any host.",
		Example: "  " + agent + " check " + what,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			var errs []error
			for _, file := range files {
				errs = append(errs, load(file))
			}
			if err := errors.Join(errs...); err != nil {
				return coded{err, exitUsage}
			}
			return nil
		},
	}
}
