package nsi

import (
	"errors"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	nsiv1 "github.com/millrace/millrace/proto/gen/millrace/nsi/v1"
	"github.com/millrace/millrace/services/nsi/soap"
	"github.com/millrace/millrace/services/nsi/states"
)

func TestEnd(t *testing.T) {
	t.Parallel()
	cfg := Configuration{Topology: ourNet, STPs: map[string]STP{"p": {Router: "a", Port: "p1", VLANs: "10,20-30"}, "q": {Router: "a", Port: "p2"}}}
	for text, want := range map[string]string{
		ourNet + ":p":                "10,20-30",
		ourNet + ":p?vlan=25-40":     "25-30",
		ourNet + ":p?vlan=10,29-30":  "10,29-30",
		ourNet + ":q":                "",
		ourNet + ":p?vlan=11":        "00704",
		ourNet + ":p?vlan=4095":      "00709",
		ourNet + ":p?vlan=30-20":     "00709",
		ourNet + ":p?vlan=":          "00704",
		ourNet + ":p?mpls=16":        "00708",
		ourNet + ":p?vlan=10&vlan=2": "00708",
		ourNet + ":q?vlan=10":        "00708",
		ourNet + ":r":                "00701",
		"urn:ogf:network:x:2026:t:p": "00701",
		"":                           "00101",
	} {
		got, no := cfg.end("sourceSTP", text)
		if no != nil && no.id != want || no == nil && (got.vlans != want || strings.HasPrefix(want, "00")) {
			t.Errorf("%s: %q, %v; want %s", text, got.vlans, no, want)
		}
	}
}

func TestWhereCallbacksGo(t *testing.T) {
	t.Parallel()
	r := Requester{ReplyTo: []string{"https://a.example/nsi/"}}
	for to, want := range map[string]bool{
		"https://a.example/nsi/callback":     true,
		"https://a.example/other":            false,
		"https://a.example/nsi/../other":     false,
		"https://a.example.evil/nsi/":        false,
		"https://u:p@a.example/nsi/":         false,
		"http://a.example/nsi/":              false,
		"https://a.example/nsi/%2e%2e/admin": false,
		"file:///etc/passwd":                 false,
		"":                                   false,
	} {
		if got := r.mayCall(to); got != want {
			t.Errorf("%q: %v", to, got)
		}
	}
}

// A change of circuits is reported once, by what was reported of the connection before.
func TestNews(t *testing.T) {
	t.Parallel()
	c := &Component{cfg: DefaultConfiguration()}
	now := time.Unix(1000, 0)
	committed := &nsiv1.Connection{Version: 1, Criteria: &nsiv1.Criteria{End: timestamppb.New(time.Unix(2000, 0))}}
	setStates(committed, states.Connection{Reservation: states.Start, Provision: states.Provisioned, Lifecycle: states.Created, Version: 1})
	held := &nsiv1.Connection{}
	setStates(held, states.Connection{Reservation: states.Held, Provision: states.Released, Lifecycle: states.Created, Held: 1})
	const active, scheduled, failed, expired = circuitsv1.State_STATE_ACTIVE, circuitsv1.State_STATE_SCHEDULED, circuitsv1.State_STATE_FAILED, circuitsv1.State_STATE_EXPIRED
	const released, cancelled = circuitsv1.State_STATE_RELEASED, circuitsv1.State_STATE_CANCELLED
	history := func(s circuitsv1.State, at int64) *circuitsv1.Transition {
		return &circuitsv1.Transition{State: s, Time: timestamppb.New(time.Unix(at, 0))}
	}
	histories := map[circuitsv1.State][]*circuitsv1.Transition{
		released:  {history(active, 1000), history(circuitsv1.State_STATE_RELEASING, 2000), history(released, 2001)},
		cancelled: {history(scheduled, 1000), history(cancelled, 1990)},
	}
	for name, x := range map[string]struct {
		r      *nsiv1.Connection
		at     time.Time
		states []circuitsv1.State
		want   []states.Event
	}{
		"both directions are carried":  {committed, now, []circuitsv1.State{active, active}, []states.Event{states.Up}},
		"one direction is":             {committed, now, []circuitsv1.State{active, scheduled}, nil},
		"a circuit fails":              {committed, now, []circuitsv1.State{failed}, []states.Event{states.Forced}},
		"a circuit ends with its time": {committed, time.Unix(2000, 0), []circuitsv1.State{circuitsv1.State_STATE_RELEASING}, []states.Event{states.EndTime}},
		"its end came by the clock of services/circuits, which is ahead":    {committed, time.Unix(1999, 0), []circuitsv1.State{released}, []states.Event{states.EndTime}},
		"given up before the end, and looked at later, or by a clock ahead": {committed, time.Unix(2001, 0), []circuitsv1.State{cancelled}, []states.Event{states.Forced}},
		"a hold expires": {held, now, []circuitsv1.State{expired}, []states.Event{states.HoldOver}},
		"a hold lasts":   {held, now, []circuitsv1.State{circuitsv1.State_STATE_HELD}, nil},
	} {
		var all []*circuitsv1.Circuit
		for _, s := range x.states {
			all = append(all, &circuitsv1.Circuit{State: s, History: histories[s]})
		}
		var got []states.Event
		for _, n := range c.news(x.r, all, x.at) {
			got = append(got, n.Event)
		}
		if len(got) != len(x.want) || len(got) > 0 && got[0] != x.want[0] {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
}

// Only circuits that may still tell something are read every second.
func TestWatched(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		s    states.Connection
		want bool
	}{
		{states.Connection{Reservation: states.Held, Lifecycle: states.Created, Held: 1}, true},
		{states.Connection{Reservation: states.Timeout, Lifecycle: states.Created, Held: 1}, false},
		{states.Connection{Reservation: states.Start, Lifecycle: states.Created}, false},
		{states.Connection{Reservation: states.Start, Lifecycle: states.Created, Version: 1}, true},
		{states.Connection{Reservation: states.Start, Lifecycle: states.Failed, Version: 1}, false},
		{states.Connection{Reservation: states.Start, Lifecycle: states.Terminated, Version: 1, Active: true}, true},
	} {
		r := &nsiv1.Connection{Circuits: []string{"c"}}
		setStates(r, x.s)
		if watched(r) != x.want {
			t.Errorf("%+v is watched: %v", x.s, !x.want)
		}
	}
}

// Another capacity is for circuits that no router has; another end is for all.
func TestCapacityOfWhatRoutersHave(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		state circuitsv1.State
		mbit  int64
		want  bool
	}{
		{circuitsv1.State_STATE_SCHEDULED, 200, true},
		{circuitsv1.State_STATE_ACTIVE, 200, false},
		{circuitsv1.State_STATE_DEACTIVATING, 50, false},
		{circuitsv1.State_STATE_ACTIVE, 100, true},
	} {
		has := &circuitsv1.Circuit{State: x.state, Terms: &circuitsv1.Terms{RateBitsPerSecond: 100 * mega}}
		if no := asTheyAre(has, &nsiv1.Criteria{Mbit: x.mbit}); (no == nil) != x.want || no != nil && no.kind != service {
			t.Errorf("%s to %d Mbit/s: %v", x.state, x.mbit, no)
		}
	}
}

// A reserveTimeout has how long it was held: by circuits at first, by this provider later.
func TestHeldFor(t *testing.T) {
	t.Parallel()
	c := &Component{cfg: DefaultConfiguration()}
	all := []*circuitsv1.Circuit{{History: []*circuitsv1.Transition{{State: circuitsv1.State_STATE_HELD, Time: timestamppb.New(time.Unix(1000, 300_000_000))}}}}
	for version, want := range []string{"120", "300"} {
		r := &nsiv1.Connection{Version: int32(version), Hold: timestamppb.New(time.Unix(1120, 0))}
		if got := c.heldFor(r, all); got != want {
			t.Errorf("version %d: %s s, want %s", version, got, want)
		}
	}
}

// A record does not grow without bound, whatever requesters and routers do.
func TestRecordsAreBounded(t *testing.T) {
	t.Parallel()
	c, err := New(DefaultConfiguration(), Dependencies{})
	must(t, err)
	r := &nsiv1.Connection{Id: "c", ReplyTo: "http://away.example/"}
	setStates(r, states.Connection{Reservation: states.Start, Provision: states.Released, Lifecycle: states.Created, Version: 1})
	c.notify(r, "errorEvent", "an event of which there is one")
	for range 3 * maxKept {
		c.notify(r, dataPlaneChange, "")
	}
	last := r.GetNotifications()[len(r.GetNotifications())-1]
	if n := len(r.GetNotifications()); n != maxKept || r.GetNotifications()[0].GetName() != "errorEvent" || last.GetId() != 3*maxKept+1 {
		t.Errorf("%d notifications, of which the last is %d", n, last.GetId())
	}
	for _, e := range []states.Event{states.Provide, states.Terminate} {
		var no *exception
		for range 100 {
			var is *nsiv1.Connection
			if is, no = c.begun(r, asked{Request: soap.Request{Operation: string(e)}}, e); no != nil {
				break
			}
			// Half of them are answered, and the answers are not delivered.
			if r = is; len(r.GetWork())%2 == 0 {
				c.answered(r, r.GetWork()[0], "provisionConfirmed", soap.E("x"))
				r.Results[len(r.Results)-1].Told, r.Work = false, r.GetWork()[1:]
			}
		}
		if no == nil || no.kind != noResource || openRequests(r) != maxOpen(e) {
			t.Errorf("%s: %v after %d requests", e, no, openRequests(r))
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		err  error
		want string
	}{
		{connect.NewError(connect.CodeUnavailable, errors.New("away")), ""},
		{errors.New("the line is cut"), ""},
		{connect.NewError(connect.CodeFailedPrecondition, errors.New("its state")), "00700"},
		{connect.NewError(connect.CodeNotFound, errors.New("none")), "00203"},
	} {
		no, err := refused(x.err)
		if (no == nil) != (x.want == "") || no != nil && no.id != x.want {
			t.Errorf("%v: %v", x.err, no)
		}
		if no == nil && err != x.err || no != nil && err != nil {
			t.Errorf("%v: %v beside %v", x.err, err, no)
		}
	}
	no := refusedWith(&circuitsv1.Refusal{Code: "VLAN_IN_USE", Blockers: []*circuitsv1.Blocker{{Router: "10.0.0.1", Port: "p1", Vlan: 7}, {Link: "l", ShortfallBitsPerSecond: mega + 1}}})
	var named []string
	for _, v := range no.variables {
		named = append(named, v.Attributes[0].Value+"="+v.Children[0].Text)
	}
	if got := strings.Join(named, " "); no.id != "00704" || got != "port=10.0.0.1 p1 vlan=7 link=l shortfallMbps=2" {
		t.Errorf("%s: %s", no.id, got)
	}
}

func TestFilesAreRelativeToTheConfiguration(t *testing.T) {
	t.Parallel()
	c := Configuration{TLS: TLS{CA: "ca.pem", Cert: "pki/nsi.pem", Key: "/etc/nsi.key"}}
	c.RelativeTo("/srv")
	if want := (TLS{CA: "/srv/ca.pem", Cert: "/srv/pki/nsi.pem", Key: "/etc/nsi.key"}); c.TLS != want {
		t.Errorf("%+v", c.TLS)
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	good := DefaultConfiguration()
	must(t, good.Validate())
	good.Listen, good.URL, good.NSA, good.Topology = "127.0.0.1:0", "https://x", ourNSA, ourNet
	must(t, good.Validate())
	for name, change := range map[string]func(*Configuration){
		"every address without certificates": func(c *Configuration) { c.Listen = "0.0.0.0:8450" },
		"no address":                         func(c *Configuration) { c.Listen = "8450" },
		"no URN":                             func(c *Configuration) { c.NSA = "nsa" },
		"a port and prefixes": func(c *Configuration) {
			c.STPs = map[string]STP{"p": {Router: "a", Port: "p", Prefixes: []string{"192.0.2.0/24"}}}
		},
		"no VLAN": func(c *Configuration) { c.STPs = map[string]STP{"p": {Router: "a", Port: "p", VLANs: "5000"}} },
		"callbacks to a host without a path": func(c *Configuration) {
			c.Requesters = map[string]Requester{theirNSA: {Project: "p", By: "b", ReplyTo: []string{"https://a.example"}}}
		},
		"a requester without a certificate": func(c *Configuration) {
			c.TLS.Cert, c.Requesters = "x", map[string]Requester{theirNSA: {Project: "p", By: "b"}}
		},
	} {
		bad := good
		change(&bad)
		if bad.Validate() == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
