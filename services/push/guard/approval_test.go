package guard

import "testing"

func TestApprove(t *testing.T) {
	one, two := Rule{Persons: 1}, Rule{Persons: 2}
	other, twoOthers := Rule{Persons: 1, NotAuthor: true}, Rule{Persons: 2, NotAuthor: true}
	const author = "ann"
	for _, c := range []struct {
		name    string
		rule    Rule
		earlier []string
		by      string
		enough  bool
		refusal string
	}{
		{"one, the author", one, nil, "ann", true, ""},
		{"one, anybody", one, nil, "bob", true, ""},
		{"one that is not the author: the author", other, nil, "ann", false, "ann asked for it, and somebody else must approve"},
		{"and the author in other letters", other, nil, " Ann ", false, " Ann  asked for it, and somebody else must approve"},
		{"one that is not the author: somebody else", other, nil, "bob", true, ""},
		{"two: the first", two, nil, "ann", false, ""},
		{"two: the second", two, []string{"ann"}, "bob", true, ""},
		{"two: the first again", two, []string{"ann"}, "ann", false, "ann has approved it already, and another person must (1 of 2 have)"},
		{"two: the first again in other letters", two, []string{"Bob"}, "bob", false, "bob has approved it already, and another person must (1 of 2 have)"},
		{"two that are not the author: the author second", twoOthers, []string{"bob"}, "ann", false, "ann asked for it, and somebody else must approve"},
		{"two that are not the author: both", twoOthers, []string{"bob"}, "cyd", true, ""},
		{"auto, which a person may still approve", Rule{}, nil, "ann", true, ""},
	} {
		enough, refusal := c.rule.Approve(author, c.earlier, c.by)
		if enough != c.enough || refusal != c.refusal {
			t.Errorf("%s: %v, %q; want %v, %q", c.name, enough, refusal, c.enough, c.refusal)
		}
	}
}
