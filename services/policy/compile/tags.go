package compile

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/millrace/millrace/services/policy/document"
)

// Tags are what flows of an alpha pair sent, by whose they were and what for (SciTags).
type Tags struct {
	// Sent is what all flows sent, with tags and without.
	Sent uint64
	Of   []Tag
}

// Tag is what flows of one community and activity sent; each is known by a name and a number.
type Tag struct {
	Community, CommunityID string
	Activity, ActivityID   string
	Bytes                  uint64
}

// AlphaRule is the rule of an alpha pair: the first that names no tags, or whose tags sent more than half of what the
// pair sent. A pair takes all its flows with it, so less would redirect more of others' flows than of those named.
// Where no rule takes the pair, rule is the first of all and why says what the pair has.
func AlphaRule(p document.Policy, t Tags) (rule int, why string) {
	for i, d := range p.Redirect {
		if d.Pairs == document.SourceAlpha && (len(d.Tags) == 0 || t.of(d.Tags) > t.Sent/2) {
			return i, ""
		}
	}
	rule = AlphaRedirect(p)
	var has []string
	for _, tag := range t.Of {
		has = append(has, fmt.Sprintf("%s/%s %.0f %%", cmp.Or(tag.Community, tag.CommunityID), cmp.Or(tag.Activity, tag.ActivityID), 100*float64(tag.Bytes)/float64(max(t.Sent, 1))))
	}
	if len(has) == 0 {
		return rule, "none of its flows had a tag, and every redirect of alpha pairs names tags"
	}
	return rule, "the tags of no redirect sent more than half of its bytes: it has " + strings.Join(has, ", ")
}

// of is what flows with any of the tags sent.
func (t Tags) of(tags []document.Tag) (sum uint64) {
	for _, tag := range t.Of {
		for _, wanted := range tags {
			if is(wanted.Community, tag.Community, tag.CommunityID) && (wanted.Activity == "" || is(wanted.Activity, tag.Activity, tag.ActivityID)) {
				sum += tag.Bytes
				break
			}
		}
	}
	return sum
}

func is(wanted, name, id string) bool { return strings.EqualFold(wanted, name) || wanted == id }
