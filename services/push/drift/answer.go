package drift

import (
	"slices"
	"time"
)

// Answer to drift, as it is configured.
type Answer string

// The answers.
const (
	// Report raises an event and does nothing else.
	Report Answer = "report"
	// Request requests a change set that restores what is Millrace's; it waits for a person.
	Request Answer = "request"
	// Repair requests the same change set, approves it by this rule, and applies it.
	Repair Answer = "repair"
)

// Answers are all.
var Answers = []Answer{Report, Request, Repair}

// Reading is what a reading of a router found.
type Reading string

// The readings.
const (
	// Unjudged: the router could not be read, or its intended configuration is unknown. That is not drift.
	Unjudged Reading = "not judged"
	// AsLeft: it holds what change sets left on it.
	AsLeft Reading = "as it should be"
	// Differs: it does not.
	Differs Reading = "differs"
)

// Memory is what is known of earlier drift.
type Memory string

// The memories.
const (
	NoDrift      Memory = "none"
	SameDrift    Memory = "the same"
	AnotherDrift Memory = "another"
)

// Asked is the state of the last repair that was requested.
type Asked string

// The repairs.
const (
	// NotAsked: none was requested, or so long ago that another may be.
	NotAsked Asked = "none"
	// Waiting: the one for the same drift is planned or approved, and waits for a person.
	Waiting Asked = "waiting"
	// Lately: one was requested not long ago. Where another party changes the router again and again, not every change
	// must be answered by a change set.
	Lately Asked = "lately"
)

// Row is one row of the table. A field that is empty fits all.
type Row struct {
	Reading Reading
	Memory  []Memory
	Asked   Asked
	Answer  Answer
	// Do is what to do, Tell whether it is reported as well.
	Do   Do
	Tell bool
}

// Do is what to do about a reading.
type Do string

// What there is to do.
const (
	// Wait for the next reading.
	Wait Do = "wait"
	// Forget the drift: it is no longer there.
	Forget Do = "forget"
	// Remember the drift.
	Remember Do = "remember"
	// Ask requests a change set that repairs the router, and remembers it; Run approves and applies it as well.
	Ask Do = "ask for a repair"
	Run Do = "ask for a repair, approve and apply it"
)

var news = []Memory{NoDrift, AnotherDrift}

// Table is what is done; of all rows that fit the first counts. docs/reference/push.md has it for operators.
var Table = []Row{
	{Reading: Unjudged, Do: Wait},
	{Reading: AsLeft, Memory: []Memory{NoDrift}, Do: Wait},
	{Reading: AsLeft, Do: Forget, Tell: true},
	{Reading: Differs, Memory: news, Answer: Report, Do: Remember, Tell: true},
	{Reading: Differs, Answer: Report, Do: Wait},
	{Reading: Differs, Memory: news, Asked: Lately, Do: Remember, Tell: true},
	{Reading: Differs, Asked: Lately, Do: Wait},
	{Reading: Differs, Memory: news, Answer: Request, Do: Ask, Tell: true},
	{Reading: Differs, Memory: news, Answer: Repair, Do: Run, Tell: true},
	{Reading: Differs, Asked: Waiting, Do: Wait},
	{Reading: Differs, Answer: Request, Do: Ask},
	{Reading: Differs, Answer: Repair, Do: Run},
}

// Decide finds the row that fits.
func Decide(r Reading, m Memory, asked Asked, answer Answer) Row {
	i := slices.IndexFunc(Table, func(row Row) bool {
		return row.Reading == r && (row.Memory == nil || slices.Contains(row.Memory, m)) &&
			(row.Asked == "" || row.Asked == asked) && (row.Answer == "" || row.Answer == answer)
	})
	if i < 0 { // a setting that Validate refuses
		return Row{Do: Wait}
	}
	return Table[i]
}

// Next is how long to wait for the next reading of a router: the interval give or take a tenth, so that readings of
// many routers that began together spread. dice is in [0, 1).
func Next(every time.Duration, dice float64) time.Duration {
	return time.Duration(float64(every) * (0.9 + 0.2*dice))
}
