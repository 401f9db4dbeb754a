package provision

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/circuits/life"
)

// of is a circuit from second 100 to 200.
func of(id string, state life.State) Circuit {
	return Circuit{ID: id, Traffic: true, Punctual: true, Life: life.Circuit{State: state, Start: 100, End: 200}}
}

func TestWhenACircuitBegins(t *testing.T) {
	early := of("c", life.Scheduled)
	early.Early = true
	silent := of("c", life.Scheduled)
	silent.Traffic = false
	off := of("c", life.Scheduled)
	off.Life.Deactivated = true
	for name, c := range map[string]struct {
		circuit Circuit
		now     int64
		due     bool
		moment  int64
	}{
		"the lead before its start":                  {early, 95, true, 100},
		"earlier than that":                          {early, 94, false, 0},
		"its capacity is somebody else's until then": {of("c", life.Scheduled), 99, false, 0},
		"its start":                    {of("c", life.Scheduled), 100, true, 100},
		"late, but within its window":  {of("c", life.Scheduled), 199, true, 199},
		"its end":                      {of("c", life.Scheduled), 200, false, 0},
		"it is deactivated":            {off, 150, false, 0},
		"it names no traffic":          {silent, 150, false, 0},
		"its path is not there":        {of("c", life.Committed), 150, false, 0},
		"it was begun":                 {of("c", life.Provisioning), 150, false, 0},
		"it is held and not committed": {of("c", life.Held), 150, false, 0},
		"its end, with a lead as long as the next one": {early, 250, false, 0},
	} {
		e, due := Begin(c.circuit, c.now, 5)
		if due != c.due || due && (e.Kind != life.Begin || e.Now != c.moment) {
			t.Errorf("%s: %v at %d, want %v at %d", name, due, e.Now, c.due, c.moment)
		}
		if next, actions := life.Next(c.circuit.Life, e); due && (next.State != life.Provisioning || len(actions) != 1) {
			t.Errorf("%s: life makes it %s", name, next.State)
		}
	}
}

func TestLateIsReportedOnce(t *testing.T) {
	told := of("c", life.Provisioning)
	told.Late = true
	off, manual := of("c", life.Scheduled), of("c", life.Provisioning)
	off.Life.Deactivated, manual.Punctual = true, false
	for name, c := range map[string]struct {
		circuit Circuit
		now     int64
		want    bool
	}{
		"its first second":             {of("c", life.Provisioning), 100, false},
		"the second after":             {of("c", life.Provisioning), 101, true},
		"its path is gone":             {of("c", life.Committed), 101, true},
		"nobody began it":              {of("c", life.Scheduled), 101, true},
		"it is deactivated":            {off, 101, false},
		"it was activated later":       {manual, 101, false},
		"it was told":                  {told, 101, false},
		"routers carry it":             {of("c", life.Active), 101, false},
		"it was carried, and is again": {of("c", life.Interrupted), 101, false},
		"its end came":                 {of("c", life.Provisioning), 200, false},
	} {
		if got := IsLate(c.circuit, c.now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWhoAsksTogether(t *testing.T) {
	asks := func(id string, start int64, tries int, asked int64) Circuit {
		c := of(id, life.Provisioning)
		c.Life.Start, c.Life.Open, c.Life.Work, c.Life.Attempt, c.Tries, c.Asked = start, true, life.Installs, tries+1, tries, asked
		return c
	}
	named := asks("named", 1, 1, 0)
	named.Change, named.ChangeAttempt = "circuit other, 1", 2
	older := named
	older.ID, older.ChangeAttempt = "older", 1
	all := []Circuit{asks("b", 50, 0, 0), asks("a", 50, 0, 0), asks("first", 40, 1, 10), asks("lately", 40, 2, 99), named, older, of("active", life.Active)}
	var got []string
	for _, c := range Batch(all, 100, false) {
		got = append(got, c.ID)
	}
	if d := cmp.Diff(got, []string{"older", "first", "a", "b"}); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	if got := Batch(all, 100, true); len(got) > 0 {
		t.Errorf("while one is on its way: %v", got)
	}
	if got := Batch(all, 101, false); got[2].ID != "lately" {
		t.Errorf("two seconds after it asked the second time: %v", got)
	}
	if a, b := Name(asks("a", 1, 0, 0)), Name(asks("a", 1, 1, 0)); a == b || a != "circuit a, 1" {
		t.Errorf("names %q and %q", a, b)
	}
	var waits []int64
	for tries := range 9 {
		waits = append(waits, wait(Circuit{Tries: 7 + tries, Settled: 7}))
	}
	if d := cmp.Diff(waits, []int64{0, 1, 2, 4, 8, 16, 32, 32, 32}); d != "" {
		t.Errorf("waits (-got +want):\n%s", d)
	}
}

// A clock that is set back, or another replica's that was ahead, keeps no circuit on routers, and none off them. Where
// clocks differ by less than a pause, the pause holds.
func TestAClockThatIsSetBackDelaysNoChangeSet(t *testing.T) {
	const now = 10_000
	ended, _ := life.Next(life.Circuit{State: life.Active, Start: 100, End: 20_000, Work: life.Installs, Attempt: 1, Verified: 1}, life.Event{Kind: life.Release, By: "ann"})
	settled := Circuit{ID: "c", Life: ended, Traffic: true, Change: "circuit c, 1", ChangeAttempt: 1, Tries: 1, Settled: 1}
	undone := settled
	undone.Tries = 4 // three times since: it waits for 4 s
	for name, c := range map[string]struct {
		circuit Circuit
		asked   int64
		want    int
	}{
		"it was installed, and the clock is set back by an hour": {settled, now + 3600, 1},
		"by a second": {settled, now + 1, 1},
		"it was undone, and the clock is set back by an hour": {undone, now + 3600, 1},
		"a second more than the pause":                        {undone, now + 5, 1},
		"as much as the pause":                                {undone, now + 4, 0},
		"a clock that is a little ahead":                      {undone, now + 1, 0},
		"it was undone just now":                              {undone, now, 0},
		"the pause is not over":                               {undone, now - 3, 0},
		"the pause is over":                                   {undone, now - 4, 1},
	} {
		c.circuit.Asked = c.asked
		if got := Batch([]Circuit{c.circuit}, now, false); len(got) != c.want {
			t.Errorf("%s: %d request a change set, want %d", name, len(got), c.want)
		}
	}
}

func TestUnderWay(t *testing.T) {
	for state := range pushv1.State_name {
		cs := &pushv1.ChangeSet{State: pushv1.State(state), ApprovalRule: &pushv1.ApprovalRule{}}
		itself := UnderWay(cs)
		cs.ApprovalRule.Persons = 1
		person := UnderWay(cs)
		want, waits := false, false
		switch cs.GetState() {
		case pushv1.State_STATE_DRAFT, pushv1.State_STATE_CANARY, pushv1.State_STATE_APPLYING, pushv1.State_STATE_APPLIED, pushv1.State_STATE_ROLLING_BACK:
			want, waits = true, true
		case pushv1.State_STATE_PLANNED, pushv1.State_STATE_APPROVED:
			want = true // by itself; another one may be requested while a person is waited for
		}
		if itself != want || person != waits {
			t.Errorf("%s: %v, %v where it takes a person", cs.GetState(), itself, person)
		}
	}
}

// Every way in which a change set may have ended, for a circuit c that begins and one that ends.
func TestWhatAChangeSetMeans(t *testing.T) {
	const (
		planned, empty, approved, scheduled  = pushv1.State_STATE_PLANNED, pushv1.State_STATE_EMPTY, pushv1.State_STATE_APPROVED, pushv1.State_STATE_SCHEDULED
		applying, verified, rolled, failed   = pushv1.State_STATE_APPLYING, pushv1.State_STATE_VERIFIED, pushv1.State_STATE_ROLLED_BACK, pushv1.State_STATE_FAILED
		dPlanned, dFailed, dUnknown, dRolled = pushv1.DeviceState_DEVICE_STATE_PLANNED, pushv1.DeviceState_DEVICE_STATE_FAILED, pushv1.DeviceState_DEVICE_STATE_UNKNOWN, pushv1.DeviceState_DEVICE_STATE_ROLLED_BACK
	)
	begins, ends, givenUp, off := of("c", life.Provisioning), of("c", life.Releasing), of("c", life.Releasing), of("c", life.Deactivating)
	begins.Life.Work, ends.Life.Work, givenUp.Life.Work, off.Life.Work = life.Installs, life.Removes, life.Installs, life.Installs
	device := func(name string, s pushv1.DeviceState, commit string) *pushv1.DeviceChange {
		return &pushv1.DeviceChange{Device: name, State: s, CommitId: commit}
	}
	type devices = []*pushv1.DeviceChange
	with := []string{"b", "c"}
	for name, x := range map[string]struct {
		circuit Circuit
		cs      *pushv1.ChangeSet
		do      Do
		tell    life.Kind
		text    string
	}{
		"being planned":                      {begins, &pushv1.ChangeSet{State: pushv1.State_STATE_DRAFT}, Wait, "", ""},
		"waits for a person":                 {begins, &pushv1.ChangeSet{State: planned}, Wait, "", ""},
		"waits for the window":               {begins, &pushv1.ChangeSet{State: scheduled}, Wait, "", ""},
		"being applied":                      {begins, &pushv1.ChangeSet{State: applying}, Wait, "", ""},
		"being rolled back":                  {begins, &pushv1.ChangeSet{State: pushv1.State_STATE_ROLLING_BACK}, Wait, "", ""},
		"a removal waits for a person":       {ends, &pushv1.ChangeSet{State: approved}, Wait, "", ""},
		"given up while a person was waited": {givenUp, &pushv1.ChangeSet{State: planned}, Tell, life.ChangeUndone, "was not applied before that"},
		"deactivated while it waited":        {off, &pushv1.ChangeSet{State: planned}, Tell, life.ChangeUndone, "was not applied before that"},
		"given up before it was planned":     {givenUp, &pushv1.ChangeSet{State: empty}, Tell, life.ChangeFailed, "was planned without it"},
		"given up while being applied":       {givenUp, &pushv1.ChangeSet{State: applying}, Wait, "", ""},

		"in force, and read on its ingress": {begins, &pushv1.ChangeSet{State: verified, Circuits: with, Devices: devices{device("in", 0, "x")}}, Tell, life.ChangeVerified, "change set cs"},
		"in force, and changed elsewhere":   {begins, &pushv1.ChangeSet{State: verified, Circuits: with, Devices: devices{device("out", 0, "x")}}, Read, "", ""},
		"routers had it already":            {begins, &pushv1.ChangeSet{State: empty, Circuits: with}, Read, "", ""},
		"planned without it":                {begins, &pushv1.ChangeSet{State: verified, Circuits: []string{"b"}}, Again, "", "was planned without it"},
		"left out": {begins, &pushv1.ChangeSet{State: verified, RefusedCircuits: []*policyv1.RefusedCircuit{{Circuit: "b", Reason: "x"}, {Circuit: "c", Reason: "it names no traffic"}}},
			Tell, life.ChangeUndone, "change set cs leaves it out: it names no traffic"},

		"removed":                             {ends, &pushv1.ChangeSet{State: verified, Circuits: []string{"b"}}, Tell, life.ChangeVerified, ""},
		"no router had it":                    {ends, &pushv1.ChangeSet{State: empty}, Tell, life.ChangeVerified, ""},
		"planned with it":                     {ends, &pushv1.ChangeSet{State: verified, Circuits: with}, Again, "", "was planned with it"},
		"a router of its path was left alone": {ends, &pushv1.ChangeSet{State: verified, LeftAlone: []string{"elsewhere", "out"}}, Again, "", "left router out as it is"},
		"another router was left alone":       {ends, &pushv1.ChangeSet{State: verified, LeftAlone: []string{"elsewhere"}}, Tell, life.ChangeVerified, ""},

		"rolled back":           {begins, &pushv1.ChangeSet{State: rolled}, Tell, life.ChangeUndone, "change set cs: because"},
		"aborted":               {begins, &pushv1.ChangeSet{State: pushv1.State_STATE_ABORTED}, Tell, life.ChangeUndone, "change set cs: because"},
		"a removal rolled back": {ends, &pushv1.ChangeSet{State: rolled}, Tell, life.ChangeUndone, ""},
		"not planned":           {begins, &pushv1.ChangeSet{State: failed}, Again, "", "because"},
		"outdated":              {begins, &pushv1.ChangeSet{State: failed, Devices: devices{device("in", dPlanned, "")}}, Again, "", "because"},
		"a router not reached":  {ends, &pushv1.ChangeSet{State: failed, Devices: devices{device("in", dFailed, ""), device("out", dPlanned, "")}}, Again, "", ""},
		"refused by all":        {begins, &pushv1.ChangeSet{State: failed, Devices: devices{device("in", dFailed, "x"), device("out", dRolled, "y")}}, Tell, life.ChangeUndone, ""},
		"nobody knows":          {begins, &pushv1.ChangeSet{State: failed, Devices: devices{device("in", dUnknown, "x")}}, Tell, life.ChangeFailed, ""},
		"some router has it":    {begins, &pushv1.ChangeSet{State: failed, Devices: devices{device("in", pushv1.DeviceState_DEVICE_STATE_CONFIRMED, "x")}}, Tell, life.ChangeFailed, ""},
	} {
		x.cs.Id, x.cs.History = "cs", []*pushv1.Transition{{Note: "asked"}, {Note: "because"}}
		v := Judge(x.circuit, x.cs, "in", []string{"in", "out"})
		if v.Do != x.do || v.Tell != x.tell || !strings.Contains(v.Text, x.text) {
			t.Errorf("%s: %+v, want %s %s %q", name, v, x.do, x.tell, x.text)
		}
	}
	long := ended(&pushv1.ChangeSet{Id: "cs", History: []*pushv1.Transition{{Note: strings.Repeat("ä", 1000)}}})
	if n := len([]rune(long)); n != maxText+2 {
		t.Errorf("a long note has %d characters", n)
	}
}
