package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSummarise(t *testing.T) {
	tests := []struct {
		name string
		rtts []float64
		sent int
		want Delay
	}{
		{"no replies are all lost", nil, 3, Delay{Sent: 3, Lost: 3}},
		{"one reply has no spread", []float64{2}, 1, Delay{Mean: 2, P99: 2, Sent: 1}},
		{"sd is the sample's", []float64{1, 2, 3}, 4, Delay{Mean: 2, P99: 3, SD: 1, Sent: 4, Lost: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Summarise(tt.rtts, tt.sent); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestQuantileIsNearestRank(t *testing.T) {
	values := make([]float64, 200)
	for i := range values {
		values[i] = float64(200 - i)
	}
	if got := quantile(values, 0.99); got != 198 {
		t.Errorf("99 %% of 1..200: got %v, want 198", got)
	}
}

func TestJudge(t *testing.T) {
	r := Report{}
	if r.Judge(); r.Pass {
		t.Error("a report without checks passes")
	}
	r.Checks = []Check{{Pass: true}, {Pass: false}}
	if r.Judge(); r.Pass {
		t.Error("a report with a failed check passes")
	}
	r.Checks[1].Pass = true
	if r.Judge(); !r.Pass {
		t.Error("a report whose checks all pass does not")
	}
}

func TestWriteMakesBothFiles(t *testing.T) {
	r := Report{Scenario: "hntes-redirect", Change: Change{Diffs: map[string]string{"WR": "+ <b>new</b>\n- old"}}}
	r.Series.Ping.Day1 = []Point{{0, 2}, {1, 63}}
	dir := t.TempDir()
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	var back Report
	raw, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"polyline", `class="add"`, "&lt;b&gt;new&lt;/b&gt;"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("report.html lacks %s", want)
		}
	}
	for _, ban := range []string{"http://", "https://", "<script"} {
		if strings.Contains(string(page), ban) {
			t.Errorf("report.html is not self-contained: it has %s", ban)
		}
	}
}
