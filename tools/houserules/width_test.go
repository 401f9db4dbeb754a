package houserules

import (
	"strings"
	"testing"
)

func TestCommentWidth(t *testing.T) {
	wide := strings.Repeat("x ", 58) + "x" // 117 columns
	check(t, []ruleCase{
		{"120 columns, a directive, a long address and a comment after code", commentWidth, map[string]string{
			"x.go": "package x\n\n// " + wide + "\n\n//go:generate " + wide + wide + "\n\n// " + strings.Repeat("x", 200) + "\nvar a = 1 // " + wide + wide + "\n",
		}, nil},
		{"121 columns, with a tab for four", commentWidth, map[string]string{"x.go": "package x\n\n// " + wide + "x\n\nfunc f() {\n\t// " + wide[:114] + "\n}\n"}, []string{
			"x.go:3: a comment of 121 columns", "x.go:6: a comment of 121 columns",
		}},
	})
}
