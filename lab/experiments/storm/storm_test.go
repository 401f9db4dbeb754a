package storm

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/scenario"
)

func record(key string, s circuitsv1.State, rate int64, from, to int64, links ...string) *circuitsv1.Record {
	c := &circuitsv1.Circuit{RequestId: key, State: s, Slots: []*circuitsv1.Slot{{
		Start: &timestamppb.Timestamp{Seconds: from}, End: &timestamppb.Timestamp{Seconds: to}, RateBitsPerSecond: rate,
	}}}
	for _, l := range links {
		c.Path = append(c.Path, &circuitsv1.Hop{Link: l})
	}
	return &circuitsv1.Record{Circuit: c}
}

const (
	scheduled = circuitsv1.State_STATE_SCHEDULED
	cancelled = circuitsv1.State_STATE_CANCELLED
)

// The oracle sees what was too much at any time, also where it was given back later.
func TestOracle(t *testing.T) {
	for name, c := range map[string]struct {
		writes        []write
		over, outside int
	}{
		"one after the other":        {[]write{{"a", record("", scheduled, 5, 100, 110, "l")}, {"b", record("", scheduled, 5, 110, 120, "l")}}, 0, 0},
		"both for three seconds":     {[]write{{"a", record("", scheduled, 5, 100, 110, "l")}, {"b", record("", scheduled, 1, 107, 120, "l")}}, 3, 0},
		"on other links":             {[]write{{"a", record("", scheduled, 5, 100, 110, "l")}, {"b", record("", scheduled, 5, 100, 110, "k")}}, 0, 0},
		"after one was given up":     {[]write{{"a", record("", scheduled, 5, 100, 110, "l")}, {"a", record("", cancelled, 5, 100, 110, "l")}, {"b", record("", scheduled, 5, 100, 110, "l")}}, 0, 0},
		"before one was given up":    {[]write{{"a", record("", scheduled, 5, 100, 110, "l")}, {"b", record("", scheduled, 5, 100, 110, "l")}, {"a", record("", cancelled, 5, 100, 110, "l")}}, 10, 0},
		"after one was forgotten":    {[]write{{"a", record("", scheduled, 5, 100, 110, "l")}, {"a", nil}, {"b", record("", scheduled, 5, 100, 110, "l")}}, 0, 0},
		"the same one written twice": {[]write{{"a", record("", scheduled, 5, 100, 110, "l")}, {"a", record("", scheduled, 5, 100, 110, "l")}}, 0, 0},
		"on a link there is not":     {[]write{{"a", record("", scheduled, 5, 100, 110, "m")}}, 0, 1},
		"before the time":            {[]write{{"a", record("", scheduled, 5, 99, 110, "l")}}, 0, 1},
	} {
		o := newOracle(100, map[string]int64{"l": 5, "k": 5})
		for _, w := range c.writes {
			o.take(w)
		}
		if o.over != c.over || o.outside != c.outside {
			t.Errorf("%s: %d over, %d outside", name, o.over, o.outside)
		}
	}
}

func TestTally(t *testing.T) {
	granted := func(id string) answer {
		a := answer{status: 201}
		a.Circuit.ID = id
		return a
	}
	refused := answer{status: 409, Code: "CAPACITY"}
	request := []request{{key: "r"}}
	there := map[string]*circuitsv1.Record{"c": record("r", scheduled, 1, 100, 110)}
	for name, c := range map[string]struct {
		outcome outcome
		kept    map[string]*circuitsv1.Record
		want    tally
	}{
		"granted and there":        {outcome{answers: []answer{granted("c")}}, there, tally{answered: 1, granted: 1}},
		"refused and not there":    {outcome{answers: []answer{refused}}, nil, tally{answered: 1, refused: 1}},
		"granted to both twins":    {outcome{answers: []answer{granted("c"), granted("c")}}, there, tally{answered: 1, granted: 1}},
		"granted twice":            {outcome{answers: []answer{granted("c"), granted("d")}}, there, tally{answered: 1, granted: 1, doubled: 1}},
		"granted and lost":         {outcome{answers: []answer{granted("c")}}, nil, tally{answered: 1, granted: 1, lost: 1}},
		"granted to another one":   {outcome{answers: []answer{granted("c")}}, map[string]*circuitsv1.Record{"c": record("s", scheduled, 1, 100, 110)}, tally{answered: 1, granted: 1, lost: 1}},
		"given up, and it is not":  {outcome{answers: []answer{granted("c")}, released: "STATE_CANCELLED"}, there, tally{answered: 1, granted: 1, released: 1, lost: 1}},
		"given up":                 {outcome{answers: []answer{granted("c")}, released: "STATE_CANCELLED"}, map[string]*circuitsv1.Record{"c": record("r", cancelled, 1, 100, 110)}, tally{answered: 1, granted: 1, released: 1}},
		"refused, and it is there": {outcome{answers: []answer{refused}}, there, tally{answered: 1, refused: 1, unclaimed: 1}},
		"an error":                 {outcome{answers: []answer{{status: 500, Code: "INTERNAL"}}}, nil, tally{answered: 1, refused: 1, unexpected: 1}},
		"no answer":                {outcome{err: errors.New("x")}, nil, tally{}},
	} {
		got := count(request, []outcome{c.outcome}, c.kept)
		got.odd = nil
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(tally{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Every request lies in the time that the oracle looks at, and the same numbers make the same requests.
func TestRequests(t *testing.T) {
	s, err := scenario.Load("circuit-storm")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Unix(1_800_000_000, 0)
	all := requests(s, start)
	if len(all) != s.Storm.Requests {
		t.Errorf("%d requests", len(all))
	}
	twins, volumes, released := 0, 0, 0
	for i, q := range all {
		terms := q.body["terms"].(map[string]any)
		from, errFrom := time.Parse(time.RFC3339, terms["start"].(string))
		to, errTo := time.Parse(time.RFC3339, terms["end"].(string))
		if errFrom != nil || errTo != nil || from.Before(start) || !from.Before(to) || to.After(start.Add(horizon*time.Second)) || terms["from"] == terms["to"] {
			t.Errorf("number %d: %v", i, terms)
		}
		twins += q.twins - 1
		if terms["volume_bytes"] != nil {
			volumes++
		}
		if q.release {
			released++
		}
	}
	if twins < 20 || volumes < 20 || released < 20 {
		t.Errorf("%d twins, %d volumes, %d given up", twins, volumes, released)
	}
	if diff := cmp.Diff(all, requests(s, start), cmp.AllowUnexported(request{})); diff != "" {
		t.Error(diff)
	}
}
