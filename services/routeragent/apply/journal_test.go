package apply

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/routeragent/tree"
)

func configuration(t *testing.T, text string) *tree.Node {
	t.Helper()
	n, err := tree.FromJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const setsPart = `{"openconfig-defined-sets:defined-sets":{"ipv4-prefix-sets":{"ipv4-prefix-set":[{"config":{"name":"s","prefix":["10.0.0.0/8"]},"name":"s"}]}}`

func with(t *testing.T, queue string) *tree.Node {
	t.Helper()
	return configuration(t, setsPart+`,"openconfig-qos:qos":{"queues":{"queue":[{"config":{"name":"`+queue+`","queue-id":1},"name":"`+queue+`"}]}}}`)
}

// plainRecord is a record that can be compared.
func plainRecord(r record) map[string]any {
	text := func(n *tree.Node) string {
		if n == nil {
			return ""
		}
		raw, _ := n.AppendJSON(nil, tree.All)
		return string(raw)
	}
	out := map[string]any{"config": text(r.Config), "numbers": r.IDs}
	if p := r.Pending; p != nil {
		out["pending"] = []any{p.ID, p.Deadline.Unix(), text(p.Config), p.IDs}
	}
	return out
}

func reread(t *testing.T, dir string, want record) {
	t.Helper()
	got, err := newJournal(dir).read()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plainRecord(want), plainRecord(got)); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

func parts(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, partPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func save(t *testing.T, j *journal, r record) {
	t.Helper()
	if err := j.save(r); err != nil {
		t.Fatal(err)
	}
}

var (
	oneID  = intent.IDs{Classes: map[string]int{"a": 1}}
	twoIDs = intent.IDs{Classes: map[string]int{"a": 1, "b": 2}}
)

func TestTheJournalGivesBackWhatWasSaved(t *testing.T) {
	dir := t.TempDir()
	reread(t, dir, record{Config: tree.New()})
	j := newJournal(dir)
	first := record{Config: with(t, "a"), IDs: oneID}
	save(t, j, first)
	reread(t, dir, first)
	trial := record{Config: with(t, "b"), IDs: twoIDs, Pending: &pending{ID: "x", Deadline: time.Unix(1e9, 0), Config: first.Config, IDs: oneID}}
	save(t, j, trial)
	reread(t, dir, trial)
	trial.Pending = nil
	save(t, j, trial)
	reread(t, dir, trial)
	if n := len(parts(t, dir)); n != 3 { // defined-sets, qos, ids
		t.Errorf("%d parts left, want 3", n)
	}
	save(t, j, record{Config: tree.New(), IDs: oneID})
	reread(t, dir, record{Config: tree.New(), IDs: oneID})
}

func TestAChangeWritesItsPartOnly(t *testing.T) {
	dir := t.TempDir()
	j := newJournal(dir)
	save(t, j, record{Config: with(t, "a"), IDs: oneID})
	for _, f := range parts(t, dir) { // what is not written again stays old
		if err := os.Chtimes(f, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	next := record{Config: with(t, "b"), IDs: oneID}
	save(t, j, next)
	reread(t, dir, next)
	written := 0
	for _, f := range parts(t, dir) {
		if info, err := os.Stat(f); err != nil || info.ModTime().Unix() != 1 {
			written++
		}
	}
	if written != 1 {
		t.Errorf("%d parts written, want that of /qos alone", written)
	}
}

func TestACrashBeforeTheListLeavesTheOldConfiguration(t *testing.T) {
	dir := t.TempDir()
	j := newJournal(dir)
	old := record{Config: with(t, "a"), IDs: oneID}
	save(t, j, old)
	if _, err := j.store(with(t, "b"), twoIDs); err != nil {
		t.Fatal(err)
	}
	reread(t, dir, old)
	j = newJournal(dir) // the next start
	save(t, j, old)
	if n := len(parts(t, dir)); n != 3 {
		t.Errorf("%d parts left, want 3: those of the crash are swept", n)
	}
	reread(t, dir, old)
}

func TestAJournalOfTheFirstReleaseIsRead(t *testing.T) {
	dir := t.TempDir()
	qos := `{"openconfig-qos:qos":{"queues":{"queue":[{"config":{"name":"a","queue-id":1},"name":"a"}]}}}`
	text := `{"config":{},"numbers":{"classes":{"a":1}},"pending":{"id":"x","deadline":"2001-09-09T01:46:40Z","previous_config":` + qos + `,"previous_numbers":{"classes":{"a":1,"b":2}}}}`
	if err := os.WriteFile(filepath.Join(dir, journalName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	reread(t, dir, record{Config: tree.New(), IDs: oneID, Pending: &pending{ID: "x", Deadline: time.Unix(1e9, 0), Config: configuration(t, qos), IDs: twoIDs}})
}

// The numbers of policers are in the journal, too, where nothing else has changed.
func TestNumbersOfPolicersAreWritten(t *testing.T) {
	dir := t.TempDir()
	j := newJournal(dir)
	save(t, j, record{Config: with(t, "a"), IDs: oneID})
	next := oneID
	next.Policers = map[string]int{"p": 3}
	save(t, j, record{Config: with(t, "a"), IDs: next})
	reread(t, dir, record{Config: with(t, "a"), IDs: next})
}

// A journal of a newer agent is refused and left as it is, whatever it is that is new in it.
func TestAJournalOfANewerAgentIsRefused(t *testing.T) {
	for name, edit := range map[string]func(dir string) error{
		"a later form":                    replaced(journalName, `{"form":1,`, `{"form":2,`),
		"a member of the list":            replaced(journalName, `{"form":1,`, `{"form":1,"labels":{"a":1},`),
		"a member of a commit that waits": replaced(journalName, `"pending":{`, `"pending":{"by":"ann",`),
		"numbers of another kind":         replaced(partPrefix+"*", `{"classes":`, `{"meters":{"m":1},"classes":`),
		"a path of a newer model":         replaced(partPrefix+"*", `"queue-id":1`, `"queue-id":1,"colour":"red"`),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			save(t, newJournal(dir), record{Config: with(t, "a"), IDs: oneID, Pending: &pending{ID: "x", Deadline: time.Unix(1e9, 0), Config: with(t, "b"), IDs: twoIDs}})
			if err := edit(dir); err != nil {
				t.Fatal(err)
			}
			before := content(t, dir)
			err := NewStore(Configuration{Dir: dir}, nil).Recover(t.Context()) // without an engine: nothing on the router may change
			if !errors.Is(err, kernel.ErrNewer) || !strings.Contains(err.Error(), "start the newer agent again") {
				t.Errorf("%v, want a refusal with what to do", err)
			}
			if diff := cmp.Diff(before, content(t, dir)); diff != "" {
				t.Errorf("the files (-before +after):\n%s", diff)
			}
		})
	}
}

// replaced edits the files that have the text, of which there must be one.
func replaced(pattern, text, by string) func(string) error {
	return func(dir string) error {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		edited := 0
		for _, f := range files {
			raw, readErr := os.ReadFile(f)
			if is := strings.Replace(string(raw), text, by, 1); is != string(raw) {
				edited++
				readErr = errors.Join(readErr, os.WriteFile(f, []byte(is), 0o600))
			}
			err = errors.Join(err, readErr)
		}
		if edited == 0 {
			err = errors.Join(err, errors.New("nothing has "+text))
		}
		return err
	}
}

func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name()] = string(raw)
	}
	return out
}
