package papers

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millrace/millrace/e2e/papers/score"
)

// names of the papers, in the order of their numbers.
var names = map[string]string{
	"000": "Lee, Park, Choi: Improving TCP Performance in Multipath Packet Forwarding Networks (report, 2001)",
	"001": "Honda and others: Scalable IP-VPN Flow Control (I2VFC), part 2",
	"002": "Yan and others: On How to Provision Virtual Circuits for Network-Redirected Large-Sized, High-Rate Flows (HNTES, 2013)",
	"003": "Lee, Park, Choi: the same, JCN 2002",
	"004": "Chown and others: Less than Best Effort on GEANT",
}

const preamble = `# The papers' numbers

Written by ` + "`millrace papers --page docs/reference/papers`" + `; do not edit. Every number of the five papers beside what the twin makes of the same experiment at
full scale: paper value, twin value, error, the tolerance and why it is that. Tolerances stand in ` + "`e2e/papers`" + ` beside each number and are argued there before a
run. Rows that are outside, or that nothing could be measured for, stay with the best explanation found. How the twin works: [the twin](../explanation/twin.md).

| paper | rows | within | outside | not measured | packet-hops |
|---|---|---|---|---|---|
`

// WritePage writes a page, a JSON file and the plots of each paper that was run into a folder, and beside the folder
// a page of that name with the totals of all papers that are in it.
func (r *Result) WritePage(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("write the page of the papers: %w", err)
	}
	for _, id := range slices.Sorted(maps.Keys(r.Totals)) {
		part := &Result{Totals: map[string]*score.Totals{id: r.Totals[id]}, Hops: r.Hops}
		for _, e := range r.Experiments {
			if e.ID[:3] == id {
				part.Experiments = append(part.Experiments, e)
			}
		}
		if err := part.writePaper(folder, id); err != nil {
			return err
		}
	}
	return writeIndex(folder)
}

func (r *Result) writePaper(folder, id string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s %s\n", id, names[id])
	for _, e := range r.Experiments {
		fmt.Fprintf(&b, "\n## %s: %s\n\n", e.ID, e.Title)
		for i, p := range e.Plots {
			file := fmt.Sprintf("%s-%d.svg", e.ID, i+1)
			if err := os.WriteFile(filepath.Join(folder, file), []byte(p.SVG()), 0o644); err != nil {
				return fmt.Errorf("write a plot: %w", err)
			}
			fmt.Fprintf(&b, "![%s](%s)\n\n", p.Figure, file)
		}
		table(&b, e.Verdicts)
	}
	raw, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, id+".json"), append(raw, '\n'), 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, id+".md"), []byte(b.String()), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the page of paper %s: %w", id, err)
	}
	return nil
}

// writeIndex adds up what is in the folder.
func writeIndex(folder string) error {
	var b strings.Builder
	b.WriteString(preamble)
	for _, id := range slices.Sorted(maps.Keys(names)) {
		raw, err := os.ReadFile(filepath.Join(folder, id+".json"))
		if err != nil {
			continue // a paper that was not run yet
		}
		var part Result
		if err := json.Unmarshal(raw, &part); err != nil || part.Totals[id] == nil {
			return fmt.Errorf("read %s.json of an earlier run: %v; remove it and run again", id, err)
		}
		t := part.Totals[id]
		fmt.Fprintf(&b, "| [%s](%s/%s.md) %s | %d | %d | %d | %d | %.0f million |\n", id, filepath.Base(folder), id, names[id], t.Rows, t.Within, t.Outside, t.Missing, float64(part.Hops)/1e6)
	}
	if err := os.WriteFile(folder+".md", []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("write the page of the papers: %w", err)
	}
	return nil
}

func table(b *strings.Builder, verdicts []score.Verdict) {
	b.WriteString("| in the paper | what | paper | twin | error | tolerance | verdict |\n|---|---|---|---|---|---|---|\n")
	for _, v := range verdicts {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", v.Item, v.What, quantity(v.Paper, v.Unit), twin(v), deviation(v), v.Tolerance(), Word(v))
	}
	reasons := map[string][]string{}
	var order []string
	for _, v := range verdicts {
		for _, text := range explain(v) {
			if reasons[text] == nil {
				order = append(order, text)
			}
			reasons[text] = append(reasons[text], v.What)
		}
	}
	if len(order) > 0 {
		b.WriteString("\n")
	}
	for _, text := range order {
		fmt.Fprintf(b, "- %s *(%s)*\n", text, list(reasons[text]))
	}
}

// explain is what a reader has to know beside the numbers: why the tolerance, what is wrong with the number, why it
// did not come out.
func explain(v score.Verdict) []string {
	var out []string
	if v.Why != "" {
		out = append(out, "Tolerance: "+v.Why+".")
	}
	if v.Flag != "" {
		out = append(out, "The paper: "+v.Flag+".")
	}
	if v.Note != "" && (v.Missing || !v.Within) {
		out = append(out, "Difference: "+v.Note+".")
	}
	return out
}

// list names rows, or says how many there are.
func list(what []string) string {
	if len(what) > 3 {
		return fmt.Sprintf("%s and %d more", what[0], len(what)-1)
	}
	return strings.Join(what, "; ")
}

// Word is the verdict in a word.
func Word(v score.Verdict) string {
	switch {
	case v.Missing:
		return "not measured"
	case v.Within:
		return "within"
	}
	return "**outside**"
}

func quantity(v float64, unit string) string {
	text := fmt.Sprintf("%.4g", v)
	if v >= 10000 {
		text = fmt.Sprintf("%.0f", v)
	}
	return strings.TrimSpace(text + " " + unit)
}

func twin(v score.Verdict) string {
	if v.Missing {
		return ""
	}
	return quantity(v.Twin, v.Unit)
}

func deviation(v score.Verdict) string {
	switch {
	case v.Missing || v.Op != score.Near:
		return ""
	case v.Row.Paper == 0:
		return fmt.Sprintf("%+.3g", v.Error)
	}
	return fmt.Sprintf("%+.1f %%", 100*v.Error)
}
