package document

import "strings"

// refused are fields people look for, with the reason why they are not there.
var refused = map[string]string{
	"rate":  "write weight: with a percentage of the port's rate",
	"share": "write weight: for the rate's share and buffer: for the buffer's",
	"shape": "write max_rate: with a percentage of the port's rate",
}

func fixUnknown(fields []field, name string) string {
	if fix, ok := refused[name]; ok {
		return fix
	}
	names := make([]string, len(fields))
	best, distance := "", 3
	for i, f := range fields {
		names[i] = f.name
		if d := edits(name, f.name); d < distance {
			best, distance = f.name, d
		}
	}
	if best != "" {
		return "write " + best + ":"
	}
	return "remove it or write one of " + strings.Join(names, ", ")
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
