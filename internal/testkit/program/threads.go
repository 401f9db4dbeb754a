package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Threads says what each thread of a process does, for the message of a test that waits for it in vain: its name, where
// in the kernel it waits, and the system call with its arguments (proc(5)).
func Threads(pid int) string {
	var out strings.Builder
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid)) // none of a process that is gone
	for _, task := range tasks {
		fmt.Fprintf(&out, "%s:", filepath.Base(task))
		for _, file := range []string{"comm", "wchan", "syscall", "stat"} {
			text, _ := os.ReadFile(filepath.Join(task, file)) // as much as there is
			fmt.Fprintf(&out, " %s", strings.TrimSpace(string(text)))
		}
		out.WriteByte('\n')
	}
	return out.String()
}
