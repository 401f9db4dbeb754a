package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/circuits"
	"github.com/millrace/millrace/lab/experiments/closedloop"
	"github.com/millrace/millrace/lab/experiments/controlplane"
	"github.com/millrace/millrace/lab/experiments/hntes"
	"github.com/millrace/millrace/lab/experiments/online"
	"github.com/millrace/millrace/lab/experiments/qos"
	"github.com/millrace/millrace/lab/experiments/storm"
	"github.com/millrace/millrace/scenario"
)

func labRunCommand() *cobra.Command {
	var f labFlags
	var loop loopFlags
	var replace map[string]string
	all := allFlags{}
	cmd := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Boot a lab, run its phases, judge its expectations, end it",
		Long: `A scenario with a phase that requires a redirect is run with the whole product
beside the routers: flows are collected, alpha pairs found, a change set
approved and pushed, and rolled back at the end. One with a phase that requires
an alarm has an alpha flow found while it goes on, and redirected at once, with
the seconds of each step. One with a phase that requires the loop has the split
follow a load by itself, and lists its moves. One with a phase that requires a
circuit has one asked for over REST, and waits for its start and its end. One
with a storm needs no routers: clients ask for circuits while servers are killed.
In any other scenario each
phase's policy is compiled, rendered and pushed to the routers' agents over
gNMI, and counters are read from them. Exit status 3 says that the run was
complete and an expectation was not met.

With --all every shipped scenario of the second kind is run, and the table of
all measurements is written.`,
		Example: "  millrace lab run hntes-redirect --output out/demo\n" +
			"  millrace lab run geant-lbe-congestion --json\n" +
			"  millrace lab run --all --json-folder out/e2e --results docs/reference/lab-results.md",
		Args: func(cmd *cobra.Command, args []string) error {
			if all.all {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if all.all {
				return all.run(cmd, f)
			}
			s, err := loadWith(args[0], replace)
			if err != nil {
				return err
			}
			if run := driverOf(s); run != nil {
				return run(cmd, s, f, loop)
			}
			return runPhases(cmd, s, f)
		},
	}
	f.add(cmd)
	loop.add(cmd)
	all.add(cmd)
	policyFlag(cmd, &replace)
	jsonFlag(cmd)
	return cmd
}

type runScenario func(*cobra.Command, *scenario.Scenario, labFlags, loopFlags) error

// labDrivers run the scenarios that need more than their policies, by what tells these.
var labDrivers = []struct {
	needed func(*scenario.Scenario) bool
	run    runScenario
}{
	{storm.Needed, runStorm},
	{hntes.Needed, runLoop},
	{online.Needed, beside(online.Run)},
	{closedloop.Needed, beside(closedloop.Run)},
	{circuits.Needed, beside(circuits.Run)},
}

// driverOf is nil where its policies are all that a scenario needs.
func driverOf(s *scenario.Scenario) runScenario {
	for _, d := range labDrivers {
		if d.needed(s) {
			return d.run
		}
	}
	return nil
}

// runPhases runs a scenario's phases, each with its policy in force.
func runPhases(cmd *cobra.Command, s *scenario.Scenario, f labFlags) error {
	backend, err := lab.ParseBackend(f.backend)
	if err != nil {
		return coded{err, exitUsage}
	}
	result, err := qos.Run(cmd.Context(), s, qos.Options{
		Lab: lab.Options{Name: f.name, Backend: backend, Output: f.output}, Progress: progress(cmd),
	})
	if err != nil {
		return err
	}
	return printJudged(cmd, result)
}

// beside runs a scenario whose driver has a control plane beside the routers.
func beside[R judged](run func(context.Context, *scenario.Scenario, controlplane.RunOptions) (R, error)) runScenario {
	return func(cmd *cobra.Command, s *scenario.Scenario, f labFlags, loop loopFlags) error {
		backend, err := lab.ParseBackend(f.backend)
		if err != nil {
			return coded{err, exitUsage}
		}
		output, err := outputOf(s, f)
		if err != nil {
			return err
		}
		result, err := run(cmd.Context(), s, controlplane.RunOptions{
			Output: output, Listen: loop.listen, LabOptions: lab.Options{Name: f.name, Backend: backend}, Progress: progress(cmd),
		})
		if err != nil {
			return err
		}
		return printJudged(cmd, result)
	}
}

// judged is a scenario's result.
type judged interface {
	Print(io.Writer) error
	Passed() bool
}

func printJudged(cmd *cobra.Command, result judged) (err error) {
	if wantJSON(cmd) {
		err = printValue(cmd, result)
	} else {
		err = result.Print(cmd.OutOrStdout())
	}
	if err == nil && !result.Passed() {
		return coded{errors.New("an expectation was not met"), exitUnmet}
	}
	return err
}
