package houserules

import "testing"

func TestDocComments(t *testing.T) {
	check(t, []ruleCase{
		{"comments that begin with their name", docComments, map[string]string{"x.go": "package x\n\n// A T is one.\ntype T struct{}\n\n// F does.\nfunc F() {}\n\n// All of them.\nconst (\n\tA = 1\n)\n\nfunc g() {}\n"}, nil},
		{"a comment of another function", docComments, map[string]string{"x.go": "package x\n\n// held does.\nfunc equal() {}\n"}, []string{"x.go:4: the comment of equal begins with \"held\""}},
		{"a comment of another type", docComments, map[string]string{"x.go": "package x\n\n// Old is.\ntype New int\n"}, []string{"x.go:4: the comment of New begins with \"Old\""}},
		{"constants and variables", docComments, map[string]string{"x.go": "package x\n\n// Most is.\nconst Most = 1\n\n// few are ours.\nconst some = 1\n\n// The modes.\nconst (\n\t// On: it is.\n\tOn = 1\n\t// Off and Out are both.\n\tOff, Out = 2, 3\n\tNone = 4\n)\n\n// Both of them.\nvar A, B int\n"}, nil},
		{"comments of other constants and variables", docComments, map[string]string{"x.go": "package x\n\n// Old is.\nconst New = 1\n\n// All:\nvar (\n\t// Two is.\n\tThree int\n\n\t// It is.\n\tFour int\n)\n"}, []string{"x.go:4: the comment of New begins with \"Old\"", "x.go:9: the comment of Three begins with \"Two\"", "x.go:12: the comment of Four begins with \"It\""}},
		{"a comment that a blank line cuts off", docComments, map[string]string{"x.go": "package x\n\n// F does.\n\nfunc F() {}\n\n// Nothing of g here.\n\nfunc g() {}\n"}, []string{"x.go:5: a blank line cuts the comment of F off"}},
	})
}
