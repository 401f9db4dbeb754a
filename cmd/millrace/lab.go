package main

import (
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/lab"
)

func labCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Virtual routers on real kernels: FRR, real TCP, real queues",
		Long: `A lab builds the topology of a scenario file: one network namespace per router
and host, FRR on the routers, on this kernel (native) or in one User-Mode Linux
guest (uml). Nothing of it touches this machine's network, and nothing is left
when it ends, however it ends. Needs root.`,
	}
	cmd.AddCommand(labUpCommand(), labDownCommand(), labRunCommand(), labVPNCommand(), labStatusCommand(), labExecCommand(), labDumpCommand())
	cmd.AddCommand(labInner("supervisor"), labInner("guest"), labEtcdCommand())
	return cmd
}

// labInner is a part of a lab that is this binary started again.
func labInner(name string) *cobra.Command {
	return &cobra.Command{
		Use:    name + " ROLE",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1), // User-Mode Linux appends words of its own
		Run:    func(_ *cobra.Command, args []string) { lab.Reexec(append([]string{"lab", name}, args...)) },
	}
}
