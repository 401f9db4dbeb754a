package papers

import (
	"encoding/json"
	"testing"

	published "github.com/millrace/millrace/docs/reference/papers"
)

// The published results have each row of the code, and a value for it or the reason why there is none. A key that is
// written differently in a row and in its case is found here.
func TestEveryRowIsMeasured(t *testing.T) {
	for _, e := range All() {
		raw, err := published.Files.ReadFile(e.ID + ".json")
		if err != nil {
			t.Errorf("experiment %s has no results: run millrace papers --only %s --page docs/reference/papers", e.ID, e.ID)
			continue
		}
		var result ExperimentResult
		if err := json.Unmarshal(raw, &result); err != nil {
			t.Fatal(err)
		}
		left := map[string]bool{}
		for _, v := range result.Verdicts {
			left[v.Key] = true
			if v.Missing && v.Explanation == "" {
				t.Errorf("%s: nothing is measured for row %q, and its Note does not say why", e.ID, v.Key)
			}
		}
		for _, r := range e.Rows {
			if !left[r.Key] {
				t.Errorf("%s: row %q is not in docs/reference/papers: run millrace papers --only %s --page docs/reference/papers", e.ID, r.Key, e.ID)
			}
			delete(left, r.Key)
		}
		for key := range left {
			t.Errorf("%s: docs/reference/papers has row %q, which the code has no more", e.ID, key)
		}
	}
}
