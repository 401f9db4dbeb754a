// Command statetables writes the reference pages of state machines from their tables in Go.
//
// In: the tables of services/push/rollout, services/circuits/life and services/nsi/states. Out: the pages, below the
// working directory. Next: docs/reference.
package main

import (
	"bytes"
	"io"
	"log"
	"os"
)

var pages = map[string]func(io.Writer){
	"docs/reference/change-set-states.md": changeSets,
	"docs/reference/circuit-states.md":    circuits,
	"docs/reference/nsi-states.md":        nsi,
}

func main() {
	for path, write := range pages {
		var page bytes.Buffer
		write(&page)
		if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
