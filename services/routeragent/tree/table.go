package tree

import "strings"

// LeafTable reads a table of schema paths of leaves: lines of a container's path, a colon, and the names of its leaves.
func LeafTable(table string) map[string]bool {
	out := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(table), "\n") {
		path, names, _ := strings.Cut(line, ": ")
		for _, name := range strings.Fields(names) {
			out[path+"/"+name] = true
		}
	}
	return out
}
