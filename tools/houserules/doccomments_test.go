package houserules

import "testing"

func TestDocComments(t *testing.T) {
	check(t, []ruleCase{
		{"comments that begin with their name", docComments, map[string]string{"x.go": "package x\n\n// A T is one.\ntype T struct{}\n\n// F does.\nfunc F() {}\n\n// All of them.\nconst (\n\tA = 1\n)\n\nfunc g() {}\n"}, nil},
		{"a comment of another function", docComments, map[string]string{"x.go": "package x\n\n// held does.\nfunc equal() {}\n"}, []string{"x.go:4: the comment of equal begins with \"held\""}},
		{"a comment of another type", docComments, map[string]string{"x.go": "package x\n\n// Old is.\ntype New int\n"}, []string{"x.go:4: the comment of New begins with \"Old\""}},
		{"a comment that a blank line cuts off", docComments, map[string]string{"x.go": "package x\n\n// F does.\n\nfunc F() {}\n\n// Nothing of g here.\n\nfunc g() {}\n"}, []string{"x.go:5: a blank line cuts the comment of F off"}},
	})
}
