// Command pause is the first process of a pod's namespaces and of a node's: it keeps them, and waits for what ends in
// them.
//
// In: nothing. Out: nothing. Next: internal/testkit/kubenode, whose image of the same name it is.
package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		for err := error(nil); err == nil || errors.Is(err, syscall.EINTR); {
			var pid int
			if pid, err = syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 && err == nil {
				break
			}
		}
	}
}
