package i2vfc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/lab/experiments/results"
	"github.com/millrace/millrace/scenario"
)

// Kept reports are judged by the expectations of now, and not by the verdicts that they were kept with.
func TestKeptReportsAreJudgedAgain(t *testing.T) {
	b := Batch{Results: t.TempDir()}
	if all, err := b.Reports(); all != nil || err != nil {
		t.Fatalf("reports %v, error %v of a folder without any", all, err)
	}
	r := &Report{Scenario: "i2vfc-single", Pass: true}
	r.add("without", Figures{Inter: 0.99, Total: 1})
	if err := results.Keep(b.file(r.Scenario), r); err != nil {
		t.Fatal(err)
	}
	all, err := b.Reports()
	if err != nil || len(all) != 1 || len(all[0].Verdicts) == 0 || all[0].Metrics()["without/goodput_mbps"] != 1 {
		t.Fatalf("reports %+v, error %v", all, err)
	}
	if err := b.Measure(t.Context()); err != nil {
		t.Errorf("a batch of no runs: %v", err)
	}
}

func TestAKeptReportThatCannotBeReadIsNamed(t *testing.T) {
	b := Batch{Results: t.TempDir()}
	if err := os.WriteFile(b.file("i2vfc-single"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := b.Reports(); err == nil || !strings.Contains(err.Error(), "i2vfc-single-vpn.json") {
		t.Errorf("reports %v, error %v", all, err)
	}
}

func TestQuotedFiguresAreTheMedians(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "s"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := &Report{Scenario: "s"}
	for _, total := range []float64{30, 10, 20} {
		r.add("without", Figures{Total: total})
	}
	if err := r.Quote(folder); err != nil {
		t.Fatal(err)
	}
	m, err := results.Read[scenario.Measured](scenario.MeasuredFile(folder, "s"))
	if err != nil || m.Metrics["without/goodput_mbps"] != 20 {
		t.Errorf("quoted %+v, error %v", m, err)
	}
}
