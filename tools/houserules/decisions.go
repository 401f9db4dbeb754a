package houserules

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// decisions checks the numbers of docs/adr: each page's name and heading have one number, which no other page has.
func decisions(t *Tree) []string {
	var bad []string
	has := map[string]string{}
	for _, name := range t.documents() {
		base := path.Base(name)
		if path.Dir(name) != "docs/adr" || base == "README.md" {
			continue
		}
		number, _, _ := strings.Cut(base, "-")
		if first, taken := has[number]; taken {
			bad = append(bad, fmt.Sprintf("%s has the number of %s", name, first))
			continue
		}
		has[number] = name
		n, err := strconv.Atoi(number)
		if want := fmt.Sprintf("# %d. ", n); err != nil || !strings.HasPrefix(string(t.Files[name]), want) {
			bad = append(bad, fmt.Sprintf("%s does not begin with %q", name, want))
		}
	}
	return bad
}
