package lab

import (
	"fmt"
	"os/exec"
	"strings"
)

// plainInterfaces turns offloads off: with them a queue holds super-packets of
// 64 kB, and neither its length nor its delay is that of a router's queue.
func plainInterfaces(n NodePlan) error {
	for _, name := range n.Plain {
		cmd := exec.Command("ethtool", "-K", name, "tso", "off", "gso", "off", "gro", "off")
		run := func() error {
			out, err := cmd.CombinedOutput()
			if err != nil {
				return fmt.Errorf("turn off offloads of %s: %w: %s", name, err, strings.TrimSpace(string(out)))
			}
			return nil
		}
		if err := inNamespaces(run, "/run/netns/"+n.Name); err != nil {
			return err
		}
	}
	return nil
}
