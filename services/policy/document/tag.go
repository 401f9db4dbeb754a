package document

import (
	"fmt"
	"slices"
	"strings"
)

// Tag is a community of SciTags, or one of its activities, each by name or number: atlas, or atlas/Production Output.
// Names are compared without regard to case.
type Tag struct{ Community, Activity string }

// UnmarshalText implements encoding.TextUnmarshaler. A name of an activity may have slashes.
func (t *Tag) UnmarshalText(text []byte) error {
	community, activity, both := strings.Cut(string(text), "/")
	if strings.TrimSpace(community) == "" || both && strings.TrimSpace(activity) == "" {
		return fmt.Errorf("%q is not a tag", text)
	}
	*t = Tag{strings.TrimSpace(community), strings.TrimSpace(activity)}
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (t Tag) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

func (t Tag) String() string {
	if t.Activity == "" {
		return t.Community
	}
	return t.Community + "/" + t.Activity
}

// has reports whether every flow of other is one of t.
func (t Tag) has(other Tag) bool {
	return strings.EqualFold(t.Community, other.Community) && (t.Activity == "" || strings.EqualFold(t.Activity, other.Activity))
}

// checkTags: a pair is of the first rule that takes it, so each rule must name a tag that no single rule before it has.
// The tags of one rule add up, which makes it take more than rules with some of them.
func (r *reader) checkTags(before []Redirect, d Redirect, at string) {
	if len(d.Tags) > 0 && d.Pairs != SourceAlpha {
		r.problem(at+".tags", "only alpha pairs have tags", "write pairs: alpha, or remove tags:")
		return
	}
	for i, tag := range d.Tags {
		if j := slices.IndexFunc(d.Tags[:i], func(other Tag) bool { return other.has(tag) }); j >= 0 {
			r.problem(fmt.Sprintf("%s.tags[%d]", at, i), fmt.Sprintf("the flows of %s are those of %s, which stands before it", tag, d.Tags[j]), "remove it")
		}
	}
	for _, b := range before {
		if len(d.Tags) > 0 && b.Pairs == SourceAlpha && covers(b.Tags, d.Tags) {
			r.problem(at+".tags", "every pair that the rule takes is of a rule before it", "remove the rule, or write it first")
		}
	}
}

// covers reports whether every flow of tags is one of all.
func covers(all, tags []Tag) bool {
	for _, tag := range tags {
		if !slices.ContainsFunc(all, func(other Tag) bool { return other.has(tag) }) {
			return false
		}
	}
	return true
}
