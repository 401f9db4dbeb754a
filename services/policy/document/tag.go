package document

import (
	"fmt"
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

// checkTags: a rule takes what the rules before it leave, so each must have something left to take.
func (r *reader) checkTags(before []Redirect, d Redirect, at string) {
	if len(d.Tags) > 0 && d.Pairs != SourceAlpha {
		r.problem(at+".tags", "only alpha pairs have tags", "write pairs: alpha, or remove tags:")
		return
	}
	var taken []Tag
	for _, b := range before {
		if b.Pairs == SourceAlpha {
			taken = append(taken, b.Tags...)
		}
	}
	for i, tag := range d.Tags {
		for _, other := range append(taken, d.Tags[:i]...) {
			if other.has(tag) {
				r.problem(fmt.Sprintf("%s.tags[%d]", at, i), fmt.Sprintf("the pairs of %s are those of %s, which stands before it", tag, other), "remove it, or write it first")
				break
			}
		}
	}
}
