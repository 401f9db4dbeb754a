package guard

import "testing"

func TestFrozen(t *testing.T) {
	all := Freeze{By: "ann", Reason: "storm"}
	wr := Freeze{Router: "wr", By: "bob", Reason: "new line card"}
	er := Freeze{Router: "er", By: "bob", Reason: "new line card"}
	for _, c := range []struct {
		name    string
		freezes []Freeze
		routers []string
		want    string
	}{
		{"nothing is frozen", nil, []string{"er", "wr"}, ""},
		{"another router is frozen", []Freeze{er}, []string{"wr"}, ""},
		{"one of the routers is frozen", []Freeze{wr}, []string{"er", "wr"}, wr.String()},
		{"several are frozen: the first by name", []Freeze{wr, er}, []string{"wr", "er"}, er.String()},
		{"all routers are frozen", []Freeze{all}, []string{"wr"}, all.String()},
		{"all and one: that of all is named", []Freeze{wr, all}, []string{"wr"}, all.String()},
	} {
		if got := Frozen(c.freezes, c.routers); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAFreezeSaysHowToEndIt(t *testing.T) {
	for f, want := range map[Freeze]string{
		{By: "ann", Reason: "storm"}:                "all routers are frozen by ann: storm (`millrace change unfreeze` ends it)",
		{Router: "wr", By: "ann", Reason: "a card"}: "router wr is frozen by ann: a card (`millrace change unfreeze wr` ends it)",
	} {
		if got := f.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
