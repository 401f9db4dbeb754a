package lab

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

const maxMapCountFile = "/proc/sys/vm/max_map_count"

// memoryNote names the most memory that a process of a User-Mode Linux guest can use, where that is less than a large
// configuration takes of an agent. The guest's kernel maps every page of a process by itself, and Linux limits
// mappings.
func memoryNote(maxMapCount string) string {
	const enough = 1 << 30
	n, err := strconv.Atoi(strings.TrimSpace(maxMapCount))
	bytes := n * os.Getpagesize()
	if err != nil || bytes >= enough {
		return ""
	}
	return fmt.Sprintf("a process in the guest can use %d MiB, by this machine's vm.max_map_count (%d); an agent with 20,000 rules needs more: sysctl -w vm.max_map_count=1048576", bytes>>20, n)
}

// sayMemory prints the limit when a guest starts.
func (l *Lab) sayMemory() {
	raw, err := os.ReadFile(maxMapCountFile)
	if err != nil || l.Backend != UML {
		return
	}
	if note := memoryNote(string(raw)); note != "" {
		l.progress(note)
	}
}
