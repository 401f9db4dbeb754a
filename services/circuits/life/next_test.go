package life

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func held() Circuit { return Circuit{State: Held, Start: 1000, End: 2000, Expires: 300} }

func in(s State) Circuit {
	c := held()
	c.State = s
	return c
}

// What is requested is done, was done before, or is refused with a reason.
func TestAsked(t *testing.T) {
	for name, c := range map[string]struct {
		circuit Circuit
		event   Event
		state   State
		refusal string
	}{
		"a commit in time":             {held(), Event{Kind: Commit, Now: 299}, Committed, ""},
		"a commit at the last moment":  {held(), Event{Kind: Commit, Now: 300}, Held, "hold is over"},
		"a second commit":              {in(Scheduled), Event{Kind: Commit, Now: 400}, Scheduled, ""},
		"a commit of an expired hold":  {in(Expired), Event{Kind: Commit}, Expired, "it is expired"},
		"an extension after a commit":  {in(Committed), Event{Kind: Extend, Until: 500}, Committed, "it is committed"},
		"an extension too far":         {held(), Event{Kind: Extend, Until: 1001}, Held, "beyond the circuit's start"},
		"an extension up to the start": {held(), Event{Kind: Extend, Until: 1000}, Held, ""},
		"an extension to before":       {held(), Event{Kind: Extend, Until: 299}, Held, "longer than that"},
		"an extension of what is over": {held(), Event{Kind: Extend, Now: 300, Until: 600}, Held, "hold is over"},
		"a hold is given up":           {held(), Event{Kind: Release}, Cancelled, ""},
		"a booking is given up":        {in(Scheduled), Event{Kind: Release}, Cancelled, ""},
		"a second release":             {in(Cancelled), Event{Kind: Release}, Cancelled, ""},
		"a hold is activated":          {held(), Event{Kind: Activate}, Held, "commit it first"},
		"a deactivation before it":     {in(Scheduled), Event{Kind: Deactivate}, Scheduled, ""},
		"a deactivation of what runs":  {in(Active), Event{Kind: Deactivate}, Deactivating, ""},
		"an activation of what ends":   {in(Releasing), Event{Kind: Activate}, Releasing, "it is releasing"},
		"a deactivated one given up":   {sent(Scheduled, Removes, 2, false), Event{Kind: Release}, Released, ""},
		"one given up meanwhile":       {sent(Deactivating, Removes, 2, true), Event{Kind: Release}, Releasing, ""},
		"a release of what failed":     {in(Failed), Event{Kind: Release}, Failed, "nothing to release"},
	} {
		next, actions := Next(c.circuit, c.event)
		refusal := ""
		if len(actions) > 0 {
			refusal = actions[0].Text
		}
		if next.State != c.state || (c.refusal == "") != (refusal == "") || !strings.Contains(refusal, c.refusal) {
			t.Errorf("%s: %s, refused with %q; want %s, %q", name, next.State, refusal, c.state, c.refusal)
		}
	}
}

func TestAHoldIsExtendedThreeTimes(t *testing.T) {
	c := held()
	for i := range MaxExtensions {
		until := c.Expires + 100
		next, actions := Next(c, Event{Kind: Extend, Now: 250, Until: until})
		if len(actions) > 0 || next.Expires != until {
			t.Fatalf("extension %d: until %d, %v", i+1, next.Expires, actions)
		}
		if same, _ := Next(next, Event{Kind: Extend, Now: 250, Until: until}); same.Extensions != i+1 {
			t.Fatalf("the same extension counts twice: %d", same.Extensions)
		}
		c = next
	}
	if _, actions := Next(c, Event{Kind: Extend, Now: 250, Until: 900}); len(actions) != 1 || actions[0].Do != Refuse {
		t.Errorf("a fourth extension: %v", actions)
	}
}

// sent is a circuit in a state, whose change set has ended, or has not.
func sent(s State, work Work, attempt int, open bool) Circuit {
	c := in(s)
	c.Work, c.Attempt, c.Open = work, attempt, open
	if work == Installs && !open && s != Failed {
		c.Verified = attempt
	}
	if work == Installs && open {
		c.Undone = attempt - 1
	}
	return c
}

// since is a circuit that had so many change sets before it was put on routers this time.
func since(c Circuit, before int) Circuit {
	c.Before, c.Undone = before, c.Attempt-before-1
	return c
}

// What becomes of a change set decides what becomes of the circuit.
func TestChangeSets(t *testing.T) {
	for name, c := range map[string]struct {
		circuit Circuit
		kind    Kind
		want    State
		do      Do
	}{
		"undone for the first time":         {sent(Provisioning, Installs, 1, true), ChangeUndone, Provisioning, Install},
		"undone for the second time":        {sent(Provisioning, Installs, 2, true), ChangeUndone, Provisioning, Install},
		"undone for the third time":         {sent(Provisioning, Installs, 3, true), ChangeUndone, Failed, ""},
		"failed":                            {sent(Provisioning, Installs, 1, true), ChangeFailed, Releasing, Remove},
		"rolled back by hand":               {sent(Active, Installs, 1, false), ChangeUndone, Failed, ""},
		"half rolled back by hand":          {sent(Active, Installs, 1, false), ChangeFailed, Releasing, Remove},
		"rolled back while its path is out": {sent(Interrupted, Installs, 1, false), ChangeUndone, Failed, ""},
		"the same, half":                    {sent(Interrupted, Installs, 1, false), ChangeFailed, Releasing, Remove},
		"over, and in force after all":      {sent(Releasing, Installs, 1, true), ChangeVerified, Releasing, Remove},
		"over, and undone":                  {sent(Releasing, Installs, 1, true), ChangeUndone, Released, ""},
		"failed, after it was given up":     {sent(Releasing, Removes, 2, true), ChangeFailed, Releasing, Remove},
		"removed":                           {sent(Releasing, Removes, 2, true), ChangeVerified, Released, ""},
		"removed, and back by hand":         {sent(Released, Removes, 2, false), ChangeUndone, Releasing, Remove},
		"deactivated":                       {sent(Deactivating, Removes, 2, true), ChangeVerified, Committed, ""},
		"deactivated, and undone":           {sent(Deactivating, Removes, 2, true), ChangeUndone, Deactivating, Remove},
		"deactivated before it was there":   {sent(Deactivating, Installs, 1, true), ChangeUndone, Committed, ""},
		"deactivated, and in force":         {sent(Deactivating, Installs, 1, true), ChangeVerified, Deactivating, Remove},
		"deactivated, and back by hand":     {sent(Scheduled, Removes, 2, false), ChangeUndone, Deactivating, Remove},
		"the same without its path":         {sent(Committed, Removes, 2, false), ChangeFailed, Deactivating, Remove},
		"undone the first time since":       {since(sent(Provisioning, Installs, 3, true), 2), ChangeUndone, Provisioning, Install},
		"undone the third time since":       {since(sent(Provisioning, Installs, 5, true), 2), ChangeUndone, Releasing, Remove},
		"told again":                        {sent(Released, Removes, 2, false), ChangeVerified, Released, ""},
		"told of what failed":               {sent(Failed, Installs, 3, false), ChangeFailed, Failed, ""},
	} {
		next, actions := Next(c.circuit, Event{Kind: c.kind, Attempt: c.circuit.Attempt})
		do := Do("")
		for _, a := range actions {
			do += a.Do
		}
		if next.State != c.want || do != c.do {
			t.Errorf("%s: %s, and to do: %q; want %s, %q", name, next.State, do, c.want, c.do)
		}
	}
}

// Who takes a circuit up does again what may not have been done, and nothing else.
func TestTakenUp(t *testing.T) {
	back := sent(Interrupted, Installs, 1, false)
	back.Looks = 3
	gone := back
	gone.Gone = true
	for name, c := range map[string]struct {
		circuit Circuit
		want    []Action
	}{
		"it was to be given to routers":    {sent(Provisioning, Installs, 1, true), []Action{{Do: Install, Attempt: 1}}},
		"the same, and over since":         {sent(Releasing, Installs, 1, true), []Action{{Do: Install, Attempt: 1}}},
		"it was to be removed":             {sent(Releasing, Removes, 2, true), []Action{{Do: Remove, Attempt: 2}}},
		"it is removed":                    {sent(Released, Removes, 2, false), nil},
		"it is active":                     {sent(Active, Installs, 1, false), nil},
		"its path is back, and not proven": {back, []Action{{Do: Prove, Attempt: 1, Look: 3}}},
		"its path is gone":                 {gone, nil},
		"nothing was sent":                 {in(Scheduled), nil},
	} {
		if _, got := Next(c.circuit, Event{Kind: TakeUp}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestOnlyTheTableIsAllowed(t *testing.T) {
	rows, asks := map[string]bool{}, map[string]bool{"held extend": true}
	kinds := []Kind{
		Commit, Extend, Release, Activate, Deactivate, Clock, Begin, PathSeen, PathLost, TakeUp, ChangeVerified, ChangeUndone, ChangeFailed, Proven, Missing, Rerouted, Updated,
	}
	for _, row := range Table {
		rows[fmt.Sprint(row.From, " ", row.To, " ", row.On)] = true
		asks[fmt.Sprint(row.From, " ", row.On)] = true
	}
	for _, from := range []State{Committed, Scheduled, Provisioning, Active, Interrupted, Deactivating} {
		asks[fmt.Sprint(from, " activate")], asks[fmt.Sprint(from, " deactivate")] = true, true
	}
	for _, from := range States {
		for _, on := range kinds {
			if key := fmt.Sprint(from, " ", on); Allows(from, on) != asks[key] {
				t.Errorf("%s may be asked: %t", key, !asks[key])
			}
			for _, to := range States {
				if key := fmt.Sprint(from, " ", to, " ", on); allowed(from, to, on) != rows[key] {
					t.Errorf("%s is allowed: %t", key, !rows[key])
				}
			}
		}
	}
}

// A time that arrives late does what was due, one that arrives early does nothing.
func TestClock(t *testing.T) {
	for name, c := range map[string]struct {
		state State
		event Event
		want  State
	}{
		"a hold before its end":          {Held, Event{Kind: Clock, Now: 299}, Held},
		"a hold at its end":              {Held, Event{Kind: Clock, Now: 300}, Expired},
		"an end while it is deactivated": {Deactivating, Event{Kind: Clock, Now: 2000}, Releasing},
		"a booking at its start":         {Scheduled, Event{Kind: Clock, Now: 1000}, Scheduled},
		"a booking before its end":       {Scheduled, Event{Kind: Clock, Now: 1999}, Scheduled},
		"a booking at its end":           {Scheduled, Event{Kind: Clock, Now: 2000}, Lapsed},
		"one without a path at its end":  {Committed, Event{Kind: Clock, Now: 9000}, Lapsed},
		"a beginning before the start":   {Scheduled, Event{Kind: Begin, Now: 999}, Scheduled},
		"a beginning at the start":       {Scheduled, Event{Kind: Begin, Now: 1000}, Provisioning},
		"a late beginning":               {Scheduled, Event{Kind: Begin, Now: 1999}, Provisioning},
		"a beginning at the end":         {Scheduled, Event{Kind: Begin, Now: 2000}, Scheduled},
		"one without a path":             {Committed, Event{Kind: Begin, Now: 1000}, Committed},
		"an end while it carries":        {Active, Event{Kind: Clock, Now: 2000}, Releasing},
	} {
		if next, _ := Next(in(c.state), c.event); next.State != c.want {
			t.Errorf("%s: %s, want %s", name, next.State, c.want)
		}
	}
}

// Without Begin, which only who can put circuits on routers tells, no order of events leads beyond Scheduled but to an
// end.
func TestNobodyIsReportedActiveWhereNobodyProvisions(t *testing.T) {
	seen, todo := map[State]bool{}, []Circuit{held()}
	for len(todo) > 0 {
		c := todo[0]
		todo = todo[1:]
		if seen[c.State] {
			continue
		}
		seen[c.State] = true
		for _, e := range []Event{
			{Kind: Commit}, {Kind: Release}, {Kind: Clock, Now: 5000}, {Kind: PathSeen}, {Kind: PathLost}, {Kind: TakeUp},
			{Kind: ChangeVerified}, {Kind: ChangeUndone}, {Kind: ChangeFailed}, {Kind: Proven}, {Kind: Missing}, {Kind: Rerouted}, {Kind: Updated},
		} {
			next, _ := Next(c, e)
			todo = append(todo, next)
		}
	}
	for _, s := range []State{Provisioning, Active, Interrupted, Releasing, Released, Failed} {
		if seen[s] {
			t.Errorf("it came to %s", s)
		}
	}
}

// An answer that is about another change set, or another look, says nothing.
func TestAnswersOfBeforeAreIgnored(t *testing.T) {
	c, _ := Next(in(Scheduled), Event{Kind: Begin, Now: 1000})
	for _, e := range []Event{{Kind: ChangeVerified, Attempt: 0}, {Kind: ChangeVerified, Attempt: 2}} {
		if next, _ := Next(c, e); next.State != Provisioning {
			t.Errorf("attempt %d, told %v: %s", c.Attempt, e, next.State)
		}
	}
	for _, e := range []Event{{Kind: ChangeVerified, Attempt: 1}, {Kind: PathLost}, {Kind: PathSeen}, {Kind: PathLost}, {Kind: PathSeen}} {
		c, _ = Next(c, e)
	}
	for _, kind := range []Kind{Proven, Missing} {
		if next, _ := Next(c, Event{Kind: kind, Look: 1}); next.State != Interrupted {
			t.Errorf("a look from before the path was lost again is %s: %s", kind, next.State)
		}
	}
	if next, actions := Next(c, Event{Kind: Missing, Look: 2}); next.State != Provisioning || !slices.Equal(actions, []Action{{Do: Install, Attempt: c.Attempt + 1}}) {
		t.Errorf("routers were read not to have it: %s, %v", next.State, actions)
	}
	if next, _ := Next(c, Event{Kind: Proven, Look: 2}); next.State != Active {
		t.Errorf("a look after it: %s", next.State)
	}
}

// routersHave is a circuit that routers were read to have, and that was booked anew since.
func routersHave(s State, open bool) Circuit {
	c := sent(s, Installs, 2, open)
	c.Verified, c.Renewed, c.Undone = 1, true, 0
	return c
}

// A circuit that routers have on another path, or at another rate, keeps what they have until they have what is booked.
func TestBookedAnew(t *testing.T) {
	change := func(c Circuit, do func(*Circuit)) Circuit { do(&c); return c }
	gone := func(c *Circuit) { c.Gone = true }
	often := func(c *Circuit) { c.Undone = MaxInstalls - 1 }
	lost := change(sent(Interrupted, Installs, 1, false), gone)
	for name, c := range map[string]struct {
		circuit Circuit
		event   Event
		want    State
		do      []Do
	}{
		"another path": {lost, Event{Kind: Rerouted}, Provisioning, []Do{Install}},
		"another path while a change set is on its way": {change(routersHave(Interrupted, true), gone), Event{Kind: Rerouted}, Interrupted, []Do{Refuse}},
		"another path of one whose path is there":       {sent(Interrupted, Installs, 1, false), Event{Kind: Rerouted}, Interrupted, []Do{Refuse}},
		"another path of one that is active":            {sent(Active, Installs, 1, false), Event{Kind: Rerouted}, Active, []Do{Refuse}},
		"it is displaced":                               {sent(Active, Installs, 1, false), Event{Kind: Displaced}, Provisioning, []Do{Install}},
		"it is displaced while it is interrupted":       {lost, Event{Kind: Displaced}, Interrupted, []Do{Refuse}},
		"deactivated while an update was on its way":    {routersHave(Deactivating, true), Event{Kind: ChangeUndone, Attempt: 2}, Deactivating, []Do{Remove}},
		"the same, and removed":                         {change(routersHave(Deactivating, true), func(c *Circuit) { c.Work = Removes }), Event{Kind: ChangeVerified, Attempt: 2}, Committed, []Do{Settle}},
		"it is lost and back while routers are given it": {change(sent(Provisioning, Installs, 1, true), func(c *Circuit) { c.Doubt = true }),
			Event{Kind: ChangeVerified, Attempt: 1}, Interrupted, []Do{Prove}},
		"it is lost while routers are given it":             {change(sent(Provisioning, Installs, 1, true), gone), Event{Kind: ChangeVerified, Attempt: 1}, Interrupted, nil},
		"removed and failed, told of its failed change set": {change(sent(Failed, Installs, 1, false), func(c *Circuit) { c.Verified = 1 }), Event{Kind: ChangeFailed, Attempt: 1}, Failed, nil},
		"another path before it began":                      {change(in(Committed), gone), Event{Kind: Rerouted}, Scheduled, nil},
		"an update":                                         {sent(Active, Installs, 1, false), Event{Kind: Updated}, Active, []Do{Install}},
		"an update of one that is interrupted":              {lost, Event{Kind: Updated}, Interrupted, []Do{Refuse}},
		"an update during another one":                      {routersHave(Active, true), Event{Kind: Updated}, Active, []Do{Refuse}},
		"its update is verified":                            {routersHave(Active, true), Event{Kind: ChangeVerified, Attempt: 2}, Active, []Do{Settle}},
		"the same, told again":                              {change(routersHave(Active, false), func(c *Circuit) { c.Verified = 2 }), Event{Kind: ChangeVerified, Attempt: 2}, Active, nil},
		"the same, and its path was lost and is back":       {routersHave(Interrupted, true), Event{Kind: ChangeVerified, Attempt: 2}, Interrupted, []Do{Settle, Prove}},
		"its update is undone":                              {routersHave(Active, true), Event{Kind: ChangeUndone, Attempt: 2}, Active, []Do{Install}},
		"its update is undone for the third time":           {change(routersHave(Active, true), often), Event{Kind: ChangeUndone, Attempt: 2}, Active, []Do{Revert}},
		"its update is undone, and its path is lost":        {change(routersHave(Interrupted, true), gone), Event{Kind: ChangeUndone, Attempt: 2}, Interrupted, []Do{Revert}},
		"the same, and its path is back":                    {routersHave(Interrupted, true), Event{Kind: ChangeUndone, Attempt: 2}, Provisioning, []Do{Revert, Install}},
		"its update fails":                                  {routersHave(Active, true), Event{Kind: ChangeFailed, Attempt: 2}, Releasing, []Do{Remove}},
		"undone before, told again":                         {change(routersHave(Active, false), func(c *Circuit) { c.Verified = 1 }), Event{Kind: ChangeUndone, Attempt: 2}, Active, nil},
		"its update is rolled back by hand":                 {change(routersHave(Active, false), func(c *Circuit) { c.Verified = 2 }), Event{Kind: ChangeUndone, Attempt: 2}, Releasing, []Do{Remove}},
		"the new path is undone":                            {routersHave(Provisioning, true), Event{Kind: ChangeUndone, Attempt: 2}, Provisioning, []Do{Install}},
		"the new path is undone for the third time":         {change(routersHave(Provisioning, true), often), Event{Kind: ChangeUndone, Attempt: 2}, Releasing, []Do{Remove}},
		"the new path is undone, and lost":                  {change(routersHave(Provisioning, true), gone), Event{Kind: ChangeUndone, Attempt: 2}, Interrupted, nil},
		"the first path is undone, and lost":                {change(sent(Provisioning, Installs, 1, true), gone), Event{Kind: ChangeUndone, Attempt: 1}, Committed, nil},
		"its path is back, and routers have another":        {change(routersHave(Interrupted, false), func(c *Circuit) { c.Verified, c.Gone = 1, true }), Event{Kind: PathSeen}, Provisioning, []Do{Install}},
		"given up, and the new path is undone":              {routersHave(Releasing, true), Event{Kind: ChangeUndone, Attempt: 2}, Releasing, []Do{Remove}},
	} {
		next, actions := Next(c.circuit, c.event)
		var do []Do
		for _, a := range actions {
			do = append(do, a.Do)
		}
		if next.State != c.want || !slices.Equal(do, c.do) {
			t.Errorf("%s: %s, and to do: %v; want %s, %v", name, next.State, do, c.want, c.do)
		}
	}
}

// Before its start a circuit is only marked, and its history says by whom and why.
func TestADeactivationBeforeTheStartIsNoted(t *testing.T) {
	for name, c := range map[string]struct {
		before bool
		event  Event
		note   string
	}{
		"off":           {false, Event{Kind: Deactivate, By: "ada"}, "deactivated"},
		"off, and why":  {false, Event{Kind: Deactivate, By: "ada", Text: "works at lyon"}, "deactivated: works at lyon"},
		"on":            {true, Event{Kind: Activate, By: "ada"}, "activated"},
		"off once more": {true, Event{Kind: Deactivate, By: "ada"}, ""},
		"on, as it is":  {false, Event{Kind: Activate, By: "ada"}, ""},
	} {
		circuit := in(Scheduled)
		circuit.Deactivated = c.before
		next, _ := Next(circuit, c.event)
		var notes []Move
		if c.note != "" {
			notes = []Move{{From: Scheduled, To: Scheduled, By: "ada", Note: c.note}}
		}
		if next.Deactivated != (c.event.Kind == Deactivate) || !slices.Equal(next.Moves, notes) {
			t.Errorf("%s: deactivated: %t, %v; want %v", name, next.Deactivated, next.Moves, notes)
		}
	}
}

// A circuit is booked anew where routers had it before: until then there is nothing to give back.
func TestOnlyWhatRoutersHadIsRenewed(t *testing.T) {
	if first, _ := Next(in(Scheduled), Event{Kind: Begin, Now: 1000}); first.Renewed {
		t.Error("a circuit that no router had is renewed")
	}
	if later, _ := Next(sent(Active, Installs, 1, false), Event{Kind: Updated}); !later.Renewed {
		t.Error("a circuit that routers have is not renewed")
	}
}
