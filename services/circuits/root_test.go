package circuits

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/webhook"
)

func asConnect(err error, c **connect.Error) bool { return errors.As(err, c) }

const (
	held      = circuitsv1.State_STATE_HELD
	committed = circuitsv1.State_STATE_COMMITTED
	scheduled = circuitsv1.State_STATE_SCHEDULED
	cancelled = circuitsv1.State_STATE_CANCELLED
	expired   = circuitsv1.State_STATE_EXPIRED
	lapsed    = circuitsv1.State_STATE_LAPSED
)

// The direct path is booked, then the one over c, and then there is nothing left: the refusal says which links lack
// what and what would fit, and what it offers is granted.
func TestARefusalSaysWhatBlocksAndWhatWouldFit(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	if got := w.booked(c, "1", w.terms("a", "b", 5)); len(got.GetPath()) != 1 || got.GetState() != scheduled {
		t.Errorf("the first: %v", got)
	}
	if got := w.booked(c, "2", w.terms("a", "b", 3)); len(got.GetPath()) != 2 || got.GetPath()[1].GetFrom() != routers["c"] {
		t.Errorf("the second: %v", got)
	}
	_, err := w.request(c, "3", w.terms("a", "b", 3), true)
	no := refusalIn(err)
	if connect.CodeOf(err) != connect.CodeFailedPrecondition || no.GetCode() != "CAPACITY" || len(no.GetBlockers()) == 0 || len(no.GetOffers()) == 0 {
		t.Fatalf("the third: %v, %v", err, no)
	}
	for _, b := range no.GetBlockers() {
		if b.GetShortfallBitsPerSecond() <= 0 || b.GetStart() == nil {
			t.Errorf("blocker %v", b)
		}
	}
	quoted, err := w.quote(c, w.terms("a", "b", 3))
	if err != nil || !proto.Equal(quoted.GetRefusal(), no) {
		t.Errorf("the quote: %v, %v", quoted, err)
	}
	for _, o := range no.GetOffers() {
		if q, err := w.quote(c, o.GetTerms()); err != nil || q.GetRefusal() != nil {
			t.Errorf("offer %s is refused: %v, %v", o.GetKind(), q, err)
		}
	}
	w.booked(c, "4", no.GetOffers()[0].GetTerms())
	w.told("circuit-scheduled")
}

func TestTheSameRequestIsAnsweredWithTheSameCircuit(t *testing.T) {
	w := newWorld(t)
	one, two := w.start(), w.start()
	first := w.booked(one, "r", w.terms("a", "b", 5))
	again, err := w.request(two, "r", w.terms("a", "b", 5), true)
	if err != nil || again.GetId() != first.GetId() {
		t.Errorf("again: %v, %v", again, err)
	}
	if _, err := w.request(two, "r", w.terms("a", "b", 4), true); connect.CodeOf(err) != connect.CodeAlreadyExists {
		t.Errorf("another request under its id: %v", err)
	}
}

func TestAHoldExpiresAndIsExtended(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	ask := func(id string) *circuitsv1.Circuit {
		got, err := w.request(c, id, w.terms("a", "b", 5), false)
		if err != nil || got.GetState() != held || !got.GetExpires().AsTime().Equal(w.clock().Add(5*time.Minute)) {
			t.Fatalf("%s: %v, %v", id, got, err)
		}
		return got
	}
	one, two := ask("1"), ask("2")
	w.set(noon.Add(4 * time.Minute))
	_, err := (&api{c}).Extend(t.Context(), connect.NewRequest(&circuitsv1.ExtendRequest{Id: two.GetId(), By: "abe", Until: timestamppb.New(noon.Add(9 * time.Minute))}))
	if err != nil {
		t.Fatal(err)
	}
	w.set(noon.Add(6 * time.Minute))
	w.is(c, one.GetId(), expired)
	w.is(c, two.GetId(), held)
	w.told("circuit-expired")
	ask("3") // on what is free again
	_, err = (&api{c}).Commit(t.Context(), connect.NewRequest(&circuitsv1.CommitRequest{Id: one.GetId(), By: "ann"}))
	if connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("a commit after the hold: %v", err)
	}
}

// A circuit whose time has come stays what it is: booked. At its end it lapses. It is never told active.
func TestACircuitIsNeverReportedActive(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	got := w.booked(c, "1", w.terms("a", "b", 5))
	w.set(noon.Add(12 * time.Hour))
	c.look(t.Context())
	if s := w.get(c, got.GetId()).GetState(); s != scheduled {
		t.Errorf("within its window: %s", s)
	}
	w.set(noon.Add(18 * time.Hour))
	w.is(c, got.GetId(), lapsed)
	w.told("circuit-lapsed")
	for _, h := range w.get(c, got.GetId()).GetHistory() {
		if !slices.Contains([]circuitsv1.State{held, committed, scheduled, lapsed}, h.GetState()) {
			t.Errorf("it was told %s", h.GetState())
		}
	}
	w.set(noon.Add(18*time.Hour + w.cfg.Keep + time.Minute))
	c.forget(t.Context())
	if _, err := c.ledger.Get(got.GetId()); !errors.Is(err, ledger.ErrNoCircuit) {
		t.Errorf("long after its end: %v", err)
	}
}

// Where a link is gone, its circuits say so and count on their other links, for a replica that starts meanwhile too.
func TestALinkThatIsGone(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	w.booked(c, "1", w.terms("a", "b", 5))
	over := w.booked(c, "2", w.terms("a", "b", 4)) // over c
	w.link("a-c", false)
	w.is(c, over.GetId(), committed)
	for _, replica := range []*Component{c, w.start()} {
		q, err := w.quote(replica, w.terms("c", "b", 2))
		if err != nil || q.GetRefusal().GetCode() != "CAPACITY" {
			t.Errorf("2 Gbit/s where 4 of 5 are booked by a circuit whose path is gone: %v, %v", q, err)
		}
		if q, err := w.quote(replica, w.terms("a", "c", 1)); err != nil || q.GetRefusal() == nil {
			t.Errorf("a link that is gone is booked: %v, %v", q, err)
		}
	}
	w.link("a-c", true)
	w.is(c, over.GetId(), scheduled)
}

func TestWhoMay(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	got, err := w.request(c, "1", w.terms("a", "b", 1), false)
	if err != nil {
		t.Fatal(err)
	}
	commit := func(by string) error {
		_, err := (&api{c}).Commit(t.Context(), connect.NewRequest(&circuitsv1.CommitRequest{Id: got.GetId(), By: by}))
		return err
	}
	release := func(by string) error {
		_, err := (&api{c}).Release(t.Context(), connect.NewRequest(&circuitsv1.ReleaseRequest{Id: got.GetId(), By: by, Note: "done"}))
		return err
	}
	for _, err := range []error{commit("bea"), release("bea"), commit("eve"), release("eve")} {
		if connect.CodeOf(err) != connect.CodePermissionDenied {
			t.Errorf("somebody else's circuit: %v", err)
		}
	}
	if err := release(""); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("nobody: %v", err)
	}
	for _, err := range []error{commit("abe"), release("noc"), release("ann")} {
		if err != nil {
			t.Error(err)
		}
	}
	w.is(c, got.GetId(), cancelled)
	_, err = (&api{c}).Commit(t.Context(), connect.NewRequest(&circuitsv1.CommitRequest{Id: "none", By: "ann"}))
	if connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("no such circuit: %v", err)
	}
}

func TestQuotas(t *testing.T) {
	w := newWorld(t)
	w.cfg.Projects["astro"] = Project{
		Members: []string{"ann"}, Between: []Ends{{A: "b", Z: "a"}}, ConcurrentMbit: 3000, GbitHours: 20, Lead: 24 * time.Hour, Holds: 2,
	}
	c := w.start()
	w.booked(c, "1", w.terms("a", "b", 2)) // 16 Gbit/s · h
	for name, tc := range map[string]struct {
		change func(*circuitsv1.Terms)
		code   string
		field  string
	}{
		"what is left":           {func(t *circuitsv1.Terms) { t.End = timestamppb.New(noon.Add(14 * time.Hour)) }, "", ""},
		"too much at once":       {func(t *circuitsv1.Terms) { t.RateBitsPerSecond = 1*giga + 1 }, "QUOTA", "rate_bits_per_second"},
		"too much altogether":    {func(t *circuitsv1.Terms) { t.End = timestamppb.New(noon.Add(15 * time.Hour)) }, "QUOTA", "end"},
		"other routers":          {func(t *circuitsv1.Terms) { t.To = "c" }, "POLICY", "to"},
		"too far ahead":          {func(t *circuitsv1.Terms) { t.Start, t.End = timestamppb.New(noon.Add(25*time.Hour)), nil }, "QUOTA", "start"},
		"without an end":         {func(t *circuitsv1.Terms) { t.End = nil }, "QUOTA", "end"},
		"another project":        {func(t *circuitsv1.Terms) { t.Project = "bio" }, "POLICY", "by"},
		"a project there is not": {func(t *circuitsv1.Terms) { t.Project = "chess" }, "POLICY", "project"},
	} {
		terms := w.terms("a", "b", 1)
		tc.change(terms)
		q, err := w.quote(c, terms)
		if err != nil || q.GetRefusal().GetCode() != tc.code || q.GetRefusal().GetField() != tc.field {
			t.Errorf("%s: %v, %v; want %s of %s", name, q.GetRefusal(), err, tc.code, tc.field)
		}
	}
	small := w.terms("a", "b", 1)
	small.RateBitsPerSecond = mega
	for i, want := range []string{"", "", "QUOTA"} {
		if _, err := w.request(c, fmt.Sprint("hold", i), small, false); refusalIn(err).GetCode() != want {
			t.Errorf("hold %d: %v, want %q", i+1, err, want)
		}
	}
	if q, err := w.quote(c, small); err != nil || q.GetRefusal() != nil {
		t.Errorf("a quote beside the holds: %v, %v", q.GetRefusal(), err)
	}
	w.booked(c, "at-once", small)
}

// Fifty clients ask two replicas for more than there is; what is granted is added up afterwards.
func TestAStormOverbooksNothing(t *testing.T) {
	w := newWorld(t)
	replicas := []*Component{w.start(), w.start()}
	var all sync.WaitGroup
	var mu sync.Mutex
	granted, answers := map[string]*Component{}, 0
	for client := range 50 {
		all.Go(func() {
			for n := range 4 {
				terms := w.terms("a", "b", 1)
				terms.Start = timestamppb.New(noon.Add(time.Duration(10+n) * time.Hour))
				got, err := w.request(replicas[client%2], fmt.Sprintf("%d-%d", client, n), terms, true)
				mu.Lock()
				answers++
				if err == nil {
					granted[got.GetId()] = replicas[client%2]
				} else if refusalIn(err).GetCode() != "CAPACITY" {
					t.Errorf("client %d: %v", client, err)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	used := map[string]int64{}    // all of them overlap in the last hour
	for id, by := range granted { // the other replica may hear of it later
		for _, h := range w.get(by, id).GetPath() {
			used[h.GetLink()] += giga
		}
	}
	for link, sum := range used {
		if sum > reservable {
			t.Errorf("%s: %d of %d", link, sum, int64(reservable))
		}
	}
	if answers != 200 || len(granted) != 10 {
		t.Errorf("%d answers, %d granted; want 200 and the 5 + 5 that there is room for", answers, len(granted))
	}
}

func TestConfiguration(t *testing.T) {
	for says, change := range map[string]func(*Configuration){
		"":                 func(*Configuration) {},
		"share 0":          func(c *Configuration) { c.Share = 0 },
		"hold 0s":          func(c *Configuration) { c.Hold = 0 },
		"request_ids":      func(c *Configuration) { c.Keep = time.Hour },
		"topology 0s":      func(c *Configuration) { c.Topology = 0 },
		"topology_age 5s":  func(c *Configuration) { c.TopologyAge = 5 * time.Second },
		"name its members": func(c *Configuration) { c.Projects = map[string]Project{"x": {}} },
		"limits are":       func(c *Configuration) { c.Projects = map[string]Project{"x": {Members: []string{"m"}, GbitHours: -1}} },
		"name both routers": func(c *Configuration) {
			c.Projects = map[string]Project{"x": {Members: []string{"m"}, Between: []Ends{{A: "a"}}}}
		},
		"webhooks: url http://x: https": func(c *Configuration) {
			c.Projects = map[string]Project{"x": {Members: []string{"m"}, Webhooks: []webhook.Target{{URL: "http://x", SecretFile: "f"}}}}
		},
		"the same url twice": func(c *Configuration) {
			c.Projects = map[string]Project{"x": {Members: []string{"m"}, Webhooks: slices.Repeat([]webhook.Target{{URL: "https://x", SecretFile: "f"}}, 2)}}
		},
		`projects: "a b": 1`: func(c *Configuration) { c.Projects = map[string]Project{"a b": {Members: []string{"m"}}} },
	} {
		cfg := DefaultConfiguration()
		change(&cfg)
		if err := cfg.Validate(); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	if _, err := New(Configuration{}, Dependencies{}); err == nil {
		t.Error("an empty configuration is taken")
	}
}

// A program's night, over plain HTTP: booked, requested again, refused with offers, given up.
func TestAProgram(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	_, handler := c.REST()
	ask := func(method, path, key, body string) (int, map[string]any) {
		t.Helper()
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
		got := httptest.NewRecorder()
		handler.ServeHTTP(got, r)
		out := map[string]any{}
		if err := json.Unmarshal(got.Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		return got.Code, out
	}
	const body = `{"by":"ann","commit":true,"terms":{"project":"astro","from":"a","to":"b","rate_bits_per_second":5000000000,
		"start":"2026-11-23T23:00:00+01:00","end":"2026-11-24T06:00:00Z","without_routers":["c"]}}`
	status, first := ask("POST", "/v1/circuits", "k", body)
	circuit, _ := first["circuit"].(map[string]any)
	if status != 201 || circuit["state"] != "STATE_SCHEDULED" || circuit["terms"].(map[string]any)["start"] != "2026-11-23T22:00:00Z" {
		t.Fatalf("%d %v", status, first)
	}
	if status, again := ask("POST", "/v1/circuits", "k", body); status != 201 || again["circuit"].(map[string]any)["id"] != circuit["id"] {
		t.Errorf("again: %d %v", status, again)
	}
	if status, no := ask("POST", "/v1/circuits", "k", strings.Replace(body, "5000000000", "4000000000", 1)); status != 409 || no["code"] != "REQUEST_ID_IN_USE" {
		t.Errorf("another body: %d %v", status, no)
	}
	status, no := ask("POST", "/v1/circuits", "l", body)
	refusal, _ := no["refusal"].(map[string]any)
	offers, _ := refusal["offers"].([]any)
	if status != 409 || no["code"] != "CAPACITY" || len(offers) == 0 {
		t.Fatalf("a second one: %d %v", status, no)
	}
	terms, err := json.Marshal(offers[0].(map[string]any)["terms"])
	if err != nil {
		t.Fatal(err)
	}
	if status, out := ask("POST", "/v1/circuits", "l", `{"by":"ann","commit":true,"terms":`+string(terms)+`}`); status != 201 {
		t.Errorf("what was offered: %d %v", status, out)
	}
	path := "/v1/circuits/" + circuit["id"].(string)
	if status, out := ask("POST", path+"/release", "", `{"by":"bea"}`); status != 403 || out["code"] != "POLICY" {
		t.Errorf("released by somebody else: %d %v", status, out)
	}
	if status, out := ask("POST", path+"/release", "", `{"by":"ann"}`); status != 200 || out["circuit"].(map[string]any)["state"] != "STATE_CANCELLED" {
		t.Errorf("released: %d %v", status, out)
	}
	if status, out := ask("GET", path, "", ""); status != 200 || out["circuit"].(map[string]any)["id"] != circuit["id"] {
		t.Errorf("read: %d %v", status, out)
	}
}
