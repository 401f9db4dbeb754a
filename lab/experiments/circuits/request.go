package circuits

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// The circuit of the story. It begins when there was time for two requests and its lead, and lasts until its traffic
// has ended.
const (
	soon   = 8 * time.Second
	length = 100 * time.Second
	rate   = 20_000_000
)

// terms of the circuit.
func terms() *circuitsv1.Terms {
	start := time.Now().Add(soon).Truncate(time.Second)
	return &circuitsv1.Terms{
		Project: "physics", From: "A", To: "C", RateBitsPerSecond: rate,
		Start: timestamppb.New(start), End: timestamppb.New(start.Add(length)),
		Pairs: []*circuitsv1.PrefixPair{
			{Source: "10.1.1.0/24", Destination: "10.2.1.0/24"}, {Source: "10.1.2.0/24", Destination: "10.2.2.0/24"},
		},
	}
}

// rest asks the REST API. Fields have the names of the .proto, and numbers of 64 bits are read as they come.
func (r *run) rest(ctx context.Context, method, path, key string, body, into proto.Message) (status int, raw []byte, err error) {
	var text []byte
	if body != nil {
		if text, err = (protojson.MarshalOptions{UseProtoNames: true}).Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, r.Plane.URL+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	if raw, err = io.ReadAll(answer.Body); err != nil {
		return 0, nil, err
	}
	if into != nil && answer.StatusCode < http.StatusBadRequest {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(raw, into)
	}
	return answer.StatusCode, raw, err
}

// request books the circuit.
func (r *run) request(ctx context.Context) (err error) {
	t := terms()
	r.Say("ask for %d Mbit/s from A to C over REST, from %s to %s", rate/1_000_000, t.GetStart().AsTime().Format(time.TimeOnly), t.GetEnd().AsTime().Format(time.TimeOnly))
	r.circuit, err = r.ask(ctx, "story", t)
	return err
}

// ask books one circuit over REST.
func (r *run) ask(ctx context.Context, key string, t *circuitsv1.Terms) (*circuitsv1.Circuit, error) {
	booked := &circuitsv1.RequestResponse{}
	status, raw, err := r.rest(ctx, http.MethodPost, "/v1/circuits", key, &circuitsv1.RequestRequest{Terms: t, By: "ann", Commit: true}, booked)
	if err == nil && status != http.StatusCreated {
		err = fmt.Errorf("%s is answered with %d: %s", key, status, raw)
	}
	return booked.GetCircuit(), err
}

// refused requests a circuit that is not granted; code is empty where it is.
func (r *run) refused(ctx context.Context, key string, t *circuitsv1.Terms) (code string, no *circuitsv1.Refusal, err error) {
	status, raw, err := r.rest(ctx, http.MethodPost, "/v1/circuits", key, &circuitsv1.RequestRequest{Terms: t, By: "ann", Commit: true}, nil)
	if err != nil {
		return "", nil, err
	}
	var problem struct {
		Code, Detail string
		Refusal      json.RawMessage
	}
	no = &circuitsv1.Refusal{}
	err = json.Unmarshal(raw, &problem)
	if err == nil && len(problem.Refusal) > 0 {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(problem.Refusal, no)
	}
	if err != nil {
		return "", nil, fmt.Errorf("read %s: %w", raw, err)
	}
	r.Say("the %s request is answered with %d: %s", key, status, problem.Detail)
	if status != http.StatusConflict {
		return "", no, nil
	}
	return problem.Code, no, nil
}

// refusal requests more than what is left of the circuit's first link.
func (r *run) refusal(ctx context.Context) error {
	t := proto.CloneOf(r.circuit.GetTerms())
	t.RateBitsPerSecond, t.WithoutRouters = rate/2, []string{"D"}
	code, no, err := r.refused(ctx, "second", t)
	if err != nil {
		return err
	}
	m := r.Result.Metrics
	m["external/refusal/capacity"] = one(code == "CAPACITY")
	m["external/refusal/shortfall_mbps"], m["external/refusal/next_window"] = 0, 0
	for _, b := range no.GetBlockers() {
		if b.GetLink() == r.circuit.GetPath()[0].GetLink() {
			m["external/refusal/shortfall_mbps"] = float64(b.GetShortfallBitsPerSecond()) / 1e6
		}
	}
	for _, o := range no.GetOffers() {
		if o.GetKind() == "LATER" && o.GetTerms().GetStart().AsTime().Equal(r.circuit.GetTerms().GetEnd().AsTime()) {
			m["external/refusal/next_window"] = 1
		}
	}
	return nil
}

// awaitState polls the circuit until it has a state.
func (r *run) awaitState(ctx context.Context, want circuitsv1.State) error {
	return r.awaitCircuit(ctx, "the circuit is "+want.String(), func(c *circuitsv1.Circuit) bool { return c.GetState() == want })
}

// awaitCircuit polls the circuit until it is as it should be.
func (r *run) awaitCircuit(ctx context.Context, what string, as func(*circuitsv1.Circuit) bool) error {
	return r.Plane.Until(ctx, 2*time.Minute, what, func(ctx context.Context) (bool, error) {
		got := &circuitsv1.GetResponse{}
		status, raw, err := r.rest(ctx, http.MethodGet, "/v1/circuits/"+r.circuit.GetId(), "", nil, got)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("it is answered with %d: %s", status, raw)
		}
		if err != nil {
			return false, err
		}
		now := got.GetCircuit()
		r.circuit = now
		if s := now.GetState(); s == circuitsv1.State_STATE_FAILED || s == circuitsv1.State_STATE_LAPSED {
			return false, fmt.Errorf("it is %s: %v", s, now.GetHistory())
		}
		return as(now), nil
	})
}
