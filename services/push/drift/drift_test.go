package drift

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/services/push/diff"
)

func at(minute int) time.Time { return time.Date(2026, 11, 22, 2, minute, 0, 0, time.UTC) }

// step is one that was planned a minute before.
func step(change string, did Did, minute int) Step {
	return Step{Change: change, Did: did, Planned: at(minute - 1), At: at(minute)}
}

func TestWhatIsRelevant(t *testing.T) {
	early := Step{Change: "c-2", Did: Applied, Planned: at(1), At: at(30)} // planned before c-1 was applied
	for name, c := range map[string]struct {
		steps []Step
		want  []string
		known Knowledge
	}{
		"no change set was ever here":                                        {nil, nil, Nothing},
		"the last one is in force, and it has the whole plan":                {[]Step{step("c-1", Applied, 10), step("c-2", Applied, 20)}, []string{"c-2 applied"}, Known},
		"the order is that of time":                                          {[]Step{step("c-2", Applied, 20), step("c-1", Applied, 10)}, []string{"c-2 applied"}, Known},
		"one that was undone counts, from its plan back":                     {[]Step{step("c-1", Applied, 10), step("c-1", Undid, 20)}, []string{"c-1 applied", "c-1 undid"}, Known},
		"one that was undone under a later one counts":                       {[]Step{step("c-1", Applied, 10), step("c-2", Applied, 20), step("c-1", Undid, 30)}, []string{"c-2 applied", "c-1 undid"}, Known},
		"one that was applied after the plan was made counts":                {[]Step{step("c-1", Applied, 10), early}, []string{"c-1 applied", "c-2 applied"}, Known},
		"nobody knows what one left that was lost":                           {[]Step{step("c-1", Applied, 10), step("c-2", Lost, 20)}, nil, Unsure},
		"a later one that was planned from what is there ends that":          {[]Step{step("c-2", Lost, 20), step("c-3", Applied, 30)}, []string{"c-3 applied"}, Known},
		"nothing is judged while one has not ended":                          {[]Step{step("c-1", Applied, 10), step("c-2", Moving, 20)}, nil, Unsure},
		"nor where one that had been planned earlier was lost in between it": {[]Step{step("c-1", Lost, 10), early}, nil, Unsure},
	} {
		in, known := Relevant(c.steps)
		var got []string
		for _, s := range in {
			got = append(got, s.Change+" "+string(s.Did))
		}
		if d := cmp.Diff(got, c.want); d != "" || known != c.known {
			t.Errorf("%s: %s, want %s; steps (-got +want):\n%s", name, known, c.known, d)
		}
	}
}

func TestTheLastThatWasApplied(t *testing.T) {
	for name, c := range map[string]struct {
		steps []Step
		want  string
	}{
		"none":                       {nil, ""},
		"none of those that came":    {[]Step{step("c-1", Lost, 10), step("c-2", Undid, 20)}, ""},
		"by time, not by their list": {[]Step{step("c-2", Applied, 20), step("c-1", Applied, 10)}, "c-2"},
		"what followed is another":   {[]Step{step("c-1", Applied, 10), step("c-2", Lost, 20)}, "c-1"},
		"at the same time the later": {[]Step{step("c-1", Applied, 10), step("c-2", Applied, 10)}, "c-2"},
	} {
		if got, found := LastApplied(c.steps); got.Change != c.want || found != (c.want != "") {
			t.Errorf("%s: %+v (%t)", name, got, found)
		}
	}
}

func TestStepsThatAreTheSame(t *testing.T) {
	one := step("c-1", Applied, 10)
	for name, c := range map[string]struct {
		other Step
		same  bool
	}{
		"planned at another time": {Step{Change: "c-1", Did: Applied, At: at(10).In(time.FixedZone("", 3600))}, true},
		"another change set":      {step("c-2", Applied, 10), false},
		"another outcome":         {step("c-1", Undid, 10), false},
		"another time":            {step("c-1", Applied, 11), false},
	} {
		if got := Same([]Step{one}, []Step{c.other}); got != c.same {
			t.Errorf("%s: %t", name, got)
		}
	}
	if Same([]Step{one}, nil) {
		t.Error("fewer steps are the same")
	}
}

func change(path, before, after string) diff.Change {
	return diff.Change{Path: path, Encoding: configentry.JSONIETF, Before: before, After: after}
}

func TestWhatIsExpected(t *testing.T) {
	force := Content{Plan: map[string]string{"/a": "1", "/b": "2"}, Changes: []diff.Change{change("/b", "", "2"), change("/c", "3", "")}}
	for name, c := range map[string]struct {
		steps    []Step
		contents []Content
		want     map[string]string
	}{
		"the plan, also what was there before it": {[]Step{step("c-2", Applied, 20)}, []Content{force}, map[string]string{"/a": "1", "/b": "2"}},
		"what it changed is as before once it is undone": {[]Step{step("c-2", Applied, 20), step("c-2", Undid, 30)}, []Content{force, force},
			map[string]string{"/a": "1", "/c": "3"}},
		"what another one changed since it was planned, but for what it changed itself": {[]Step{step("c-1", Applied, 19), step("c-2", Applied, 20)},
			[]Content{{Plan: map[string]string{"/z": "9"}, Changes: []diff.Change{change("/a", "1", ""), change("/b", "", "8"), change("/d", "", "4")}}, force},
			map[string]string{"/b": "2", "/d": "4"}},
	} {
		if d := cmp.Diff(Expected(c.steps, c.contents), c.want); d != "" {
			t.Errorf("%s (-got +want):\n%s", name, d)
		}
	}
	if len(force.Plan) != 2 {
		t.Error("the plan was changed")
	}
}

func TestWhatIsDone(t *testing.T) {
	for name, c := range map[string]struct {
		reading Reading
		memory  Memory
		asked   Asked
		answer  Answer
		want    Do
		tell    bool
	}{
		"a router that cannot be read has no drift": {Unjudged, NoDrift, NotAsked, Repair, Wait, false},
		"nor has it none":              {Unjudged, SameDrift, NotAsked, Repair, Wait, false},
		"all is as it should be":       {AsLeft, NoDrift, NotAsked, Repair, Wait, false},
		"drift that is gone is told":   {AsLeft, SameDrift, Waiting, Request, Forget, true},
		"report tells":                 {Differs, NoDrift, NotAsked, Report, Remember, true},
		"report tells once":            {Differs, SameDrift, NotAsked, Report, Wait, false},
		"report tells other drift":     {Differs, AnotherDrift, NotAsked, Report, Remember, true},
		"request asks and tells":       {Differs, NoDrift, NotAsked, Request, Ask, true},
		"request waits for the person": {Differs, SameDrift, Waiting, Request, Wait, false},
		"request asks again in its time where nothing came of it":    {Differs, SameDrift, NotAsked, Request, Ask, false},
		"request does not ask for every one of many drifts":          {Differs, AnotherDrift, Lately, Request, Remember, true},
		"request asks for another drift although one waits":          {Differs, AnotherDrift, Waiting, Request, Ask, true},
		"repair restores and tells":                                  {Differs, NoDrift, NotAsked, Repair, Run, true},
		"repair does not fight":                                      {Differs, NoDrift, Lately, Repair, Remember, true},
		"repair waits where it was tried lately":                     {Differs, SameDrift, Lately, Repair, Wait, false},
		"repair tries again in its time":                             {Differs, SameDrift, NotAsked, Repair, Run, false},
		"repair waits where somebody holds up the change set":        {Differs, SameDrift, Waiting, Repair, Wait, false},
		"an answer nobody knows is none, and the settings refuse it": {Differs, NoDrift, NotAsked, "shout", Wait, false},
	} {
		got := Decide(c.reading, c.memory, c.asked, c.answer)
		if got.Do != c.want || got.Tell != c.tell {
			t.Errorf("%s: %s, told %v; want %s, %v", name, got.Do, got.Tell, c.want, c.tell)
		}
	}
}

func TestEveryRowIsReached(t *testing.T) {
	reached := map[int]bool{}
	for _, r := range []Reading{Unjudged, AsLeft, Differs} {
		for _, m := range []Memory{NoDrift, SameDrift, AnotherDrift} {
			for _, a := range []Asked{NotAsked, Waiting, Lately} {
				for _, answer := range Answers {
					row := Decide(r, m, a, answer)
					for i := range Table {
						if cmp.Equal(Table[i], row) {
							reached[i] = true
						}
					}
					if r == Unjudged && row.Do != Wait {
						t.Errorf("a router that was not read: %v", row)
					}
				}
			}
		}
	}
	if len(reached) != len(Table) {
		t.Errorf("%d of %d rows are ever used", len(reached), len(Table))
	}
}

func TestReadingsSpread(t *testing.T) {
	for dice, want := range map[float64]time.Duration{0: 9 * time.Minute, 0.5: 10 * time.Minute, 0.99: 10*time.Minute + 58*time.Second + 800*time.Millisecond} {
		if got := Next(10*time.Minute, dice); (got - want).Abs() > time.Microsecond {
			t.Errorf("%v: %s, want %s", dice, got, want)
		}
	}
}
