package report

import (
	"flag"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

var rewrite = flag.Bool("rewrite", false, "write testdata anew")

var two = time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC)

func stampOf(t time.Time) *timestamppb.Timestamp { return timestamppb.New(t) }

// full is a nightly run with something in every section.
func full() Run {
	evidence := func(bytes, rate uint64, err float64) []*alphav1.Evidence {
		return []*alphav1.Evidence{
			{Bytes: 1_100_000_000, IntervalStart: stampOf(two.Add(-9 * time.Hour)), Interval: durationpb.New(time.Minute), MinBytes: 1e9, SamplingRate: rate, SamplingError: err},
			{Bytes: bytes, IntervalStart: stampOf(two.Add(-10 * time.Hour)), Interval: durationpb.New(time.Minute), MinBytes: 1e9, SamplingRate: rate, SamplingError: err},
		}
	}
	pair := func(id, src, dst string, list []*alphav1.Evidence) *alphav1.Pair {
		return &alphav1.Pair{Id: id, Src: src, Dst: dst, Exporter: "192.0.2.1", Evidence: list, LastSeen: stampOf(two.Add(-31 * 24 * time.Hour))}
	}
	changes := []*pushv1.ChangeSet{
		{Id: "c-new", Author: Author, Title: "alpha pairs: 2 added, 1 removed", State: pushv1.State_STATE_PLANNED, Created: stampOf(two),
			ApprovalRule: &pushv1.ApprovalRule{Persons: 2, Because: []string{"it changes 40 config entries, and the nightly budget is 30"}}},
		{Id: "c-old", Author: Author, Title: "alpha pairs: 1 added, 0 removed", State: pushv1.State_STATE_SCHEDULED, Created: stampOf(two.Add(-24 * time.Hour))},
		{Id: "c-over", Author: Author, Title: "verified", State: pushv1.State_STATE_VERIFIED, Created: stampOf(two.Add(-24 * time.Hour))},
		{Id: "c-hand", Author: "ada", Title: "by hand", State: pushv1.State_STATE_PLANNED, Created: stampOf(two)},
	}
	return Run{At: two, Waiting: Waiting(changes), Response: &alphav1.NightlyResponse{
		Added: []*alphav1.Pair{
			pair("p-one", "10.1.0.0/24", "10.2.0.0/24", evidence(2_345_600_000, 1, 0)),
			pair("p-two", "10.1.9.0/24", "10.2.0.0/24", evidence(1_500_000_000, 1000, 0.032)),
			pair("p-three", "2001:db8:1::/48", "2001:db8:2::/48", evidence(1_200_000_000, 0, 0)),
		},
		Refreshed:  []*alphav1.Pair{pair("p-old", "10.3.0.0/24", "10.4.0.0/24", nil)},
		AgedOut:    []*alphav1.Pair{pair("p-gone", "10.5.0.0/24", "10.6.0.0/24", nil)},
		Refused:    []*alphav1.Refusal{{Exporter: "192.0.2.9", Reason: "2.5 % of its packets are missing, and gate.max_loss is 1 %"}},
		ChangeId:   "c-new",
		Warnings:   []string{"exporter <192.0.2.77> belongs to no device of the inventory"},
		InCircuits: []*alphav1.InCircuit{{Circuit: "c7", Pair: pair("", "10.7.0.0/24", "10.8.0.0/24", evidence(3_000_000_000, 1, 0))}},
	}}
}

func render(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var out strings.Builder
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestReportsAreAsKept(t *testing.T) {
	quiet := Run{At: two, Response: &alphav1.NightlyResponse{}}
	for name, write := range map[string]func(io.Writer) error{
		"full.txt": full().Text, "full.html": full().HTML, "quiet.txt": quiet.Text, "quiet.html": quiet.HTML,
	} {
		got, file := render(t, write), "testdata/"+name
		if *rewrite {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs:\n%s", name, got)
		}
	}
}

// What a reader of mail takes apart again is the text and the page, whole.
func TestAMailHasBoth(t *testing.T) {
	n := full()
	m, err := mail.ReadMessage(strings.NewReader(render(t, n.Mail)))
	if err != nil {
		t.Fatal(err)
	}
	if at, err := m.Header.Date(); err != nil || !at.Equal(two) || m.Header.Get("Subject") != n.Title() {
		t.Errorf("subject %q, date %v, %v", m.Header.Get("Subject"), at, err)
	}
	kind, parameters, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("%q, %v", kind, err)
	}
	r := multipart.NewReader(m.Body, parameters["boundary"])
	for _, want := range []struct{ kind, text string }{{"text/plain", render(t, n.Text)}, {"text/html", render(t, n.HTML)}} {
		p, err := r.NextRawPart()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(quotedprintable.NewReader(p))
		if err != nil || !strings.HasPrefix(p.Header.Get("Content-Type"), want.kind) || strings.ReplaceAll(string(got), "\r\n", "\n") != want.text {
			t.Errorf("%s: %v\n%s", p.Header.Get("Content-Type"), err, got)
		}
	}
}

// Every state of a change set either waits with a reason, or has ended.
func TestWhatWaitsHasAReason(t *testing.T) {
	ended := map[pushv1.State]bool{
		pushv1.State_STATE_UNSPECIFIED: true, pushv1.State_STATE_VERIFIED: true, pushv1.State_STATE_ROLLED_BACK: true,
		pushv1.State_STATE_FAILED: true, pushv1.State_STATE_EMPTY: true, pushv1.State_STATE_ABORTED: true,
	}
	for number, name := range pushv1.State_name {
		c := &pushv1.ChangeSet{State: pushv1.State(number), Author: Author}
		if waits := why(c) != ""; waits == ended[pushv1.State(number)] {
			t.Errorf("%s: %q", name, why(c))
		}
	}
	for _, c := range []struct {
		rule *pushv1.ApprovalRule
		have int
		want string
	}{
		{nil, 0, "waits for one person's approval"},
		{&pushv1.ApprovalRule{Persons: 2}, 0, "waits for the approval of 2 persons"},
		{&pushv1.ApprovalRule{Persons: 2}, 1, "waits for one person's approval"},
		{&pushv1.ApprovalRule{Persons: 0}, 0, "approved by its rule, waits for a guard"},
		{&pushv1.ApprovalRule{Persons: 1, Because: []string{"a", "b"}}, 0, "waits for one person's approval: a; b"},
	} {
		m := &pushv1.ChangeSet{State: pushv1.State_STATE_PLANNED, ApprovalRule: c.rule, Approvals: make([]*pushv1.Approval, c.have)}
		if got := why(m); got != c.want {
			t.Errorf("%v with %d approvals: %q, want %q", c.rule, c.have, got, c.want)
		}
	}
}

func TestTheTitleCounts(t *testing.T) {
	n := full()
	if got, want := n.Title(), "Alpha pairs 2026-11-24: 3 came, 1 went, 2 waiting, 1 not trusted, 1 to look at"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	n.DryRun, n.Unknown, n.Waiting = true, "services/push does not answer", nil
	text := render(t, n.Text)
	for _, want := range []string{"Alpha pairs, dry run 2026-11-24", "Nobody knows what waits: services/push does not answer", "nothing was stored"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	if fmt.Sprint(n.sections()[2].Rows) != "[]" {
		t.Errorf("%v", n.sections()[2])
	}
}
