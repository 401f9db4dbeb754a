package guard

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is who must approve a change set.
type Rule struct {
	// Persons is how many must; 0: it is approved by itself.
	Persons int
	// NotAuthor means that an approval by the requester of the change set does not count.
	NotAuthor bool
}

// Approve is one more person's approval, after those of earlier ones: whether it is enough, or why it does not count.
// People are the names that they give.
func (r Rule) Approve(author string, earlier []string, by string) (enough bool, refusal string) {
	switch {
	case r.NotAuthor && same(author)(by):
		return false, fmt.Sprintf("%s asked for it, and somebody else must approve", by)
	case slices.ContainsFunc(earlier, same(by)):
		return false, fmt.Sprintf("%s has approved it already, and another person must (%d of %d have)", by, len(earlier), r.Persons)
	}
	return len(earlier)+1 >= r.Persons, ""
}

// same compares names as people write them.
func same(a string) func(string) bool {
	return func(b string) bool { return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)) }
}
