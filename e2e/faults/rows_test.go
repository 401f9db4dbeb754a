package faults

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"slices"
	"testing"
)

// kept makes one page of several runs: outages of ten minutes alone take hours.
var (
	kept  = flag.String("kept", "", "keep what was seen in this file, beside what earlier runs saw of other faults and moments")
	build = flag.String("build", "unknown", "the commit of the binary, for the page")
)

// row is what was seen of one fault at one moment.
type row struct {
	Moment, Fault string
	// End is a word for how it ended.
	End   string
	Holds bool
	// Build is the commit of the millrace that ran.
	Build string
}

// rows are those of this run; earlier are those of runs before it.
var rows, earlier []*row

// record makes the row of a test, which holds unless the test fails.
func record(t *testing.T, moment, fault string) *row {
	t.Helper()
	r := &row{Moment: moment, Fault: fault, End: "holds", Build: *build}
	rows = append(rows, r)
	t.Cleanup(func() {
		r.Holds = !t.Failed()
		if err := keep(*kept); err != nil {
			t.Error(err)
		}
	})
	return r
}

// seen are the rows of this run, and those of earlier ones that it did not see again.
func seen() []*row {
	out := slices.Clone(rows)
	for _, r := range earlier {
		if !slices.ContainsFunc(rows, func(of *row) bool { return of.Moment == r.Moment && of.Fault == r.Fault }) {
			out = append(out, r)
		}
	}
	return out
}

// remember reads what earlier runs kept.
func remember(file string) error {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, &earlier)
}

// keep is called after each row, so that a run that is cut off keeps what it saw.
func keep(file string) error {
	if file == "" {
		return nil
	}
	text, err := json.MarshalIndent(seen(), "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// count is how many of some rows hold.
func count(of []*row) (held int) {
	for _, r := range of {
		if r.Holds {
			held++
		}
	}
	return held
}
