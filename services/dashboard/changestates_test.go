package dashboard

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/millrace/millrace/internal/changestate"
)

var update = flag.Bool("update", false, "rewrite web/src/gen/changestates.json")

// The page reads the same table as the command and the push service.
func TestThePagesTableOfChangeStatesIsCurrent(t *testing.T) {
	const file = "web/src/gen/changestates.json"
	table := map[string]changestate.Row{}
	for state, row := range changestate.Table {
		table[state.String()] = row
	}
	want, err := json.MarshalIndent(table, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not current; run: go test ./services/dashboard -run ChangeStates -update", file)
	}
}
