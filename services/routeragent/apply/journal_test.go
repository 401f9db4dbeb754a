package apply

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/routeragent/intent"
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
