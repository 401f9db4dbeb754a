package compile_test

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

func TestAlphaRules(t *testing.T) {
	atlas := compile.Tag{Community: "atlas", CommunityID: "2", Activity: "Production Output", ActivityID: "16"}
	staging := compile.Tag{Community: "atlas", CommunityID: "2", Activity: "Staging", ActivityID: "19"}
	cms := compile.Tag{Community: "cms", CommunityID: "3", Activity: "12", ActivityID: "12"}
	sent := func(tag compile.Tag, bytes uint64) compile.Tag { tag.Bytes = bytes; return tag }
	tags := func(of ...document.Tag) document.Redirect {
		return document.Redirect{Pairs: document.SourceAlpha, Tags: of}
	}
	of := func(community, activity string) document.Tag {
		return document.Tag{Community: community, Activity: activity}
	}
	other, every := document.Redirect{Pairs: document.SourceCircuits}, tags()
	for _, c := range []struct {
		name  string
		rules []document.Redirect
		has   []compile.Tag
		want  int
		why   string
	}{
		{"a rule without tags takes every pair", []document.Redirect{other, every}, nil, 1, ""},
		{"a community", []document.Redirect{other, tags(of("atlas", "")), every}, []compile.Tag{sent(atlas, 51)}, 1, ""},
		{"in capitals", []document.Redirect{tags(of("ATLAS", "production output"))}, []compile.Tag{sent(atlas, 51)}, 0, ""},
		{"by number", []document.Redirect{tags(of("2", "16"))}, []compile.Tag{sent(atlas, 51)}, 0, ""},
		{"half is not more than half", []document.Redirect{tags(of("atlas", "")), every}, []compile.Tag{sent(atlas, 50), sent(cms, 50)}, 1, ""},
		{"tags of one rule add up", []document.Redirect{tags(of("cms", ""), of("atlas", "staging")), every}, []compile.Tag{sent(cms, 30), sent(staging, 30), sent(atlas, 40)}, 0, ""},
		{"but each flow counts once", []document.Redirect{tags(of("atlas", "staging"), of("atlas", "")), every}, []compile.Tag{sent(staging, 30)}, 1, ""},
		{"another activity", []document.Redirect{tags(of("atlas", "staging")), every}, []compile.Tag{sent(atlas, 90)}, 1, ""},
		{"the first that takes it", []document.Redirect{tags(of("atlas", "staging")), tags(of("atlas", "")), every}, []compile.Tag{sent(staging, 20), sent(atlas, 50)}, 1, ""},
		{"no rule takes it", []document.Redirect{other, tags(of("cms", ""))}, []compile.Tag{sent(atlas, 60), sent(cms, 40)}, 1,
			"the tags of no redirect sent more than half of its bytes: it has atlas/Production Output 60 %, cms/12 40 %"},
		{"no tag at all", []document.Redirect{tags(of("cms", ""))}, nil, 0, "none of its flows had a tag, and every redirect of alpha pairs names tags"},
	} {
		rule, why := compile.AlphaRule(document.Policy{Redirect: c.rules}, compile.Tags{Sent: 100, Of: c.has})
		if rule != c.want || why != c.why {
			t.Errorf("%s: rule %d, %q; want %d, %q", c.name, rule, why, c.want, c.why)
		}
	}
	if rule, why := compile.AlphaRule(document.Policy{Redirect: []document.Redirect{other}}, compile.Tags{}); rule != -1 || !strings.HasPrefix(why, "none of its flows") {
		t.Errorf("no rule for alpha pairs: %d, %q", rule, why)
	}
	if rule, _ := compile.AlphaRule(document.Policy{Redirect: []document.Redirect{tags(of("atlas", "")), every}}, compile.Tags{}); rule != 1 {
		t.Errorf("a pair that sent nothing is of rule %d", rule)
	}
}
