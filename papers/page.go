package papers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millrace/millrace/papers/score"
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
full scale: paper value, twin value, error, the tolerance and why it is that. Tolerances stand in ` + "`papers`" + ` beside each number and are argued there before a
run. The lab's column is what virtual routers measured in the scenario of that experiment, scaled up by what stands in brackets ([lab results](lab-results.md)); it is not judged here. Rows that are outside, or that nothing could be measured for, stay with the best explanation found. How the twin works: [the twin](../explanation/twin.md).

| paper | rows | within | outside | not measured | packet-hops |
|---|---|---|---|---|---|
`

// WritePage writes what was run into a folder: of each experiment a JSON file and its plots, of each paper a page,
// and beside the folder a page of that name with the totals of everything that is in it. Experiments that were not
// run now keep what an earlier run wrote.
func (r *Result) WritePage(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("write the pages of the papers: %w", err)
	}
	for i := range r.Experiments {
		if err := r.Experiments[i].write(folder); err != nil {
			return err
		}
	}
	var index strings.Builder
	index.WriteString(preamble)
	for _, id := range slices.Sorted(maps.Keys(names)) {
		line, err := writePaper(folder, id)
		if err != nil {
			return err
		}
		index.WriteString(line)
	}
	return put(folder+".md", index.String())
}

func put(file, text string) error {
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the pages of the papers: %w", err)
	}
	return nil
}

func (e *ExperimentResult) write(folder string) error {
	for i, p := range e.Plots {
		file := fmt.Sprintf("%s-%d.svg", e.ID, i+1)
		if err := put(filepath.Join(folder, file), p.SVG()); err != nil {
			return err
		}
		e.Figures = append(e.Figures, Figure{Title: p.Figure, File: file})
	}
	raw, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		return fmt.Errorf("encode experiment %s: %w", e.ID, err)
	}
	return put(filepath.Join(folder, e.ID+".json"), string(raw)+"\n")
}

// kept reads what a run wrote of an experiment and holds it against the rows of today, with what the lab has measured
// since: an explanation can change without a run, a value cannot.
func kept(folder string, known Experiment) (*ExperimentResult, error) {
	file := filepath.Join(folder, known.ID+".json")
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var e ExperimentResult
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, fmt.Errorf("read %s of an earlier run; remove it and run again: %w", file, err)
	}
	values := score.Values{}
	for _, v := range e.Verdicts {
		if !v.Missing {
			values[v.Key] = v.Twin
		}
	}
	if e.Verdicts, err = known.judge(values); err != nil {
		return nil, err
	}
	now, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode experiment %s: %w", e.ID, err)
	}
	return &e, put(file, string(now)+"\n")
}

// writePaper puts a paper's page together and returns its line in the table of totals.
func writePaper(folder, id string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s %s\n", id, names[id])
	var t score.Totals
	var hops int64
	for _, known := range All() {
		if known.Paper() != id {
			continue
		}
		e, err := kept(folder, known)
		if errors.Is(err, os.ErrNotExist) {
			fmt.Fprintf(&b, "\n## %s: %s\n\nNot run yet.\n", known.ID, known.Title)
			continue
		}
		if err != nil {
			return "", err
		}
		hops += e.Hops
		for _, v := range e.Verdicts {
			t.Count(v)
		}
		e.section(&b)
	}
	line := fmt.Sprintf("| [%s](%s/%s.md) %s | %d | %d | %d | %d | %.0f million |\n", id, filepath.Base(folder), id, names[id], t.Rows, t.Within, t.Outside, t.Missing, float64(hops)/1e6)
	return line, put(filepath.Join(folder, id+".md"), b.String())
}

func (e *ExperimentResult) section(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s: %s\n\n", e.ID, e.Title)
	for _, f := range e.Figures {
		fmt.Fprintf(b, "![%s](%s)\n\n", f.Title, f.File)
	}
	table(b, e.Verdicts)
}

func table(b *strings.Builder, verdicts []score.Verdict) {
	b.WriteString("| in the paper | what | paper | twin | error | tolerance | verdict | lab |\n|---|---|---|---|---|---|---|---|\n")
	for _, v := range verdicts {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", v.Item, v.What, quantity(v.Row.Paper, v.Unit), twin(v), deviation(v), v.Tolerance(), Word(v), Lab(v))
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

// explain is what a reader needs beside the numbers: the reason for the tolerance, a defect of the number,
// and why it was not met.
func explain(v score.Verdict) []string {
	var out []string
	if v.Rationale != "" {
		out = append(out, "Tolerance: "+v.Rationale+".")
	}
	if v.Caveat != "" {
		out = append(out, "The paper: "+v.Caveat+".")
	}
	if v.Explanation != "" && (v.Missing || !v.Within) {
		out = append(out, "Difference: "+v.Explanation+".")
	}
	return out
}

// list names rows, or counts them where there are many.
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

// Lab is what virtual routers measured, with the scale of their rates.
func Lab(v score.Verdict) string {
	if v.Lab == nil {
		return ""
	}
	return quantity(v.Lab.Value, v.Unit) + " (" + v.Lab.Scale + ")"
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
