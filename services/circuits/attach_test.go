package circuits

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/testkit/await"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/ports"
)

// frames are terms for a circuit between ports p1 of two routers.
func (w *world) frames(from, to string, gbit int64, vlan, vlan2 string) *circuitsv1.Terms {
	t := w.terms(from, to, gbit)
	t.FromPort, t.ToPort = &circuitsv1.Port{Name: "p1", Vlans: vlan}, &circuitsv1.Port{Name: "p1", Vlans: vlan2}
	return t
}

func TestACircuitBetweenPortsHasItsRateInBothDirections(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	got := w.booked(c, "one", w.frames("a", "b", 4, "100", "300"))
	if got.GetFromVlan() != 100 || got.GetToVlan() != 300 || got.GetNumber() != 1 || len(got.GetBack()) != 1 || got.GetBack()[0].GetLink() != linkID("b", "a") {
		t.Fatalf("booked: %v", got)
	}
	for _, link := range []string{linkID("a", "b"), linkID("b", "a")} {
		r, err := (&api{c}).Calendar(t.Context(), connect.NewRequest(&circuitsv1.CalendarRequest{Link: link, Start: got.GetTerms().GetStart(), End: got.GetTerms().GetEnd()}))
		if err != nil {
			t.Fatal(err)
		}
		if of := r.Msg.GetLinks()[0]; of.GetLeastFreeBitsPerSecond() != giga || !slices.Equal(of.GetCircuits(), []string{got.GetId()}) {
			t.Errorf("of link %s %d bit/s are free, and %v use it", link, of.GetLeastFreeBitsPerSecond(), of.GetCircuits())
		}
	}
	// A circuit the other way still fits over the detour; two of 4 Gbit/s more do not, whichever way they ask.
	w.booked(c, "round", w.terms("b", "a", 4))
	if _, err := w.request(c, "full", w.frames("a", "b", 4, "101", "101"), true); refusalIn(err).GetCode() != "CAPACITY" {
		t.Errorf("there is no room back: %v", err)
	}
	release(t, c, got.GetId())
	w.booked(c, "again", w.frames("a", "b", 4, "100", "300"))
}

func release(t *testing.T, c *Component, id string) {
	t.Helper()
	if _, err := (&api{c}).Release(t.Context(), connect.NewRequest(&circuitsv1.ReleaseRequest{Id: id, By: "ann"})); err != nil {
		t.Fatal(err)
	}
}

func TestAVLANIsOfOneCircuitAtATimeAndPort(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	first := w.booked(c, "one", w.frames("a", "b", 1, "100", "300"))
	no := func(what string, terms *circuitsv1.Terms, vlan int32, offer string) {
		t.Helper()
		_, err := w.request(c, strings.ReplaceAll(what, " ", "-"), terms, true)
		r := refusalIn(err)
		if r.GetCode() != codeVLAN || len(r.GetBlockers()) == 0 || r.GetBlockers()[0].GetCircuit() != first.GetId() || r.GetBlockers()[0].GetVlan() != vlan {
			t.Fatalf("%s: %v", what, err)
		}
		if len(r.GetOffers()) != 1 || r.GetOffers()[0].GetKind() != otherVLAN {
			t.Fatalf("%s: offers %v", what, r.GetOffers())
		}
		o := r.GetOffers()[0].GetTerms()
		if got := o.GetFromPort().GetVlans() + " " + o.GetToPort().GetVlans(); got != offer {
			t.Errorf("%s: VLANs %s are offered, not %s", what, got, offer)
		}
		if q, err := w.quote(c, o); err != nil || q.GetRefusal() != nil {
			t.Errorf("%s: the offer does not fit: %v, %v", what, q.GetRefusal(), err)
		}
	}
	no("same", w.frames("a", "b", 1, "100", "300"), 100, "1 1")
	no("one end", w.frames("a", "b", 1, "5", "300"), 300, "5 1")
	no("other way", w.frames("b", "a", 1, "7", "100"), 100, "7 1")
	no("to c", w.frames("a", "c", 1, "100", "100"), 100, "1 100")

	later := w.frames("a", "b", 1, "100", "300")
	later.Start, later.End = first.GetTerms().GetEnd(), timestamppb.New(first.GetTerms().GetEnd().AsTime().Add(time.Hour))
	w.booked(c, "later", later)
	other := w.frames("a", "b", 1, "100", "300")
	other.FromPort.Name, other.ToPort.Name = "p2", "p2"
	w.booked(c, "other-ports", other)
	if set := w.booked(c, "set", w.frames("a", "b", 1, "99-101", "any")); set.GetFromVlan() != 99 || set.GetToVlan() != 1 || set.GetNumber() != 4 {
		t.Errorf("of a set it got %d and %d, number %d", set.GetFromVlan(), set.GetToVlan(), set.GetNumber())
	}
	untagged := w.booked(c, "untagged", w.frames("a", "b", 1, "", "2"))
	if _, err := w.request(c, "untagged2", w.frames("a", "c", 1, "", "2"), true); refusalIn(err).GetBlockers()[0].GetCircuit() != untagged.GetId() {
		t.Errorf("frames without a tag are of one circuit: %v", err)
	}
}

func TestWhatIsNoPortForACircuitIsRefused(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	for field, change := range map[string]func(*circuitsv1.Terms){
		"from_port.name":  func(t *circuitsv1.Terms) { t.FromPort.Name = "core" },
		"to_port.name":    func(t *circuitsv1.Terms) { t.ToPort.Name = "p9" },
		"to_port":         func(t *circuitsv1.Terms) { t.ToPort = nil },
		"from_port":       func(t *circuitsv1.Terms) { t.FromPort = nil },
		"from_port.vlans": func(t *circuitsv1.Terms) { t.FromPort.Vlans = "4095" },
		"to_port.vlans":   func(t *circuitsv1.Terms) { t.ToPort.Vlans = "no" },
		"volume_bytes":    func(t *circuitsv1.Terms) { t.VolumeBytes = 1000 },
		"excess":          func(t *circuitsv1.Terms) { t.Excess = circuitsv1.Excess_EXCESS_DROP },
		"protection":      func(t *circuitsv1.Terms) { t.Protection = 1 },
		"pairs": func(t *circuitsv1.Terms) {
			t.Pairs = []*circuitsv1.PrefixPair{{Source: "10.0.0.0/24", Destination: "10.1.0.0/24"}}
		},
	} {
		terms := w.frames("a", "b", 1, "100", "300")
		change(terms)
		if _, err := w.quote(c, terms); refusalIn(err).GetField() != field || connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: %v", field, err)
		}
	}
	lo := w.frames("a", "b", 1, "100", "300")
	lo.FromPort.Name = "lo"
	if _, err := w.quote(c, lo); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("a loopback: %v", err)
	}
	routed := w.frames("a", "b", 1, "", "300")
	routed.FromPort.Name = "p3"
	if _, err := w.quote(c, routed); refusalIn(err).GetField() != "from_port.vlans" || connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("what the router itself hears at p3: %v", err)
	}
	routed.FromPort.Vlans = "100"
	if _, err := w.quote(c, routed); err != nil {
		t.Errorf("a VLAN of p3: %v", err)
	}
	// p1 has 8 Gbit/s: two circuits of 5 to two routers do not fit, whatever links have.
	w.booked(c, "first", w.frames("a", "b", 5, "1", "1"))
	_, err := w.request(c, "second", w.frames("a", "c", 4, "2", "2"), true)
	if r := refusalIn(err); r.GetCode() != "CAPACITY" || r.GetBlockers()[0].GetPort() != "p1" || r.GetBlockers()[0].GetShortfallBitsPerSecond() != giga {
		t.Errorf("the port is full: %v", err)
	}
}

func TestAModificationKeepsTheVLAN(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	first := w.booked(c, "one", w.frames("a", "b", 1, "100", "300"))
	next := w.frames("a", "c", 1, "100", "300")
	next.Start, next.End = first.GetTerms().GetEnd(), nil
	w.booked(c, "two", next)
	ask := &circuitsv1.ModifyRequest{Id: first.GetId(), By: "ann", Version: first.GetVersion(), RateBitsPerSecond: 4 * giga}
	r, err := (&api{c}).Modify(t.Context(), connect.NewRequest(ask))
	if err != nil || r.Msg.GetCircuit().GetSlots()[0].GetRateBitsPerSecond() != 4*giga {
		t.Fatalf("another rate: %v, %v", r, err)
	}
	if got, err := w.quote(c, w.terms("b", "a", 4)); err != nil || len(got.GetPath()) != 2 {
		t.Errorf("the way back has the rate, too: %v, %v", got.GetPath(), err)
	}
	ask = &circuitsv1.ModifyRequest{Id: first.GetId(), By: "ann", Version: r.Msg.GetCircuit().GetVersion(), End: timestamppb.New(first.GetTerms().GetEnd().AsTime().Add(time.Hour))}
	if _, err := (&api{c}).Modify(t.Context(), connect.NewRequest(ask)); refusalIn(err).GetCode() != codeVLAN {
		t.Errorf("the VLAN is another circuit's then: %v", err)
	}
	ask = &circuitsv1.ModifyRequest{Id: first.GetId(), By: "ann", Version: r.Msg.GetCircuit().GetVersion(), RateBitsPerSecond: 9 * giga}
	if _, err := (&api{c}).Modify(t.Context(), connect.NewRequest(ask)); refusalIn(err).GetCode() != "CAPACITY" {
		t.Errorf("there is no room: %v", err)
	}
}

// TestTwoReplicasNeverGiveOneVLANTwice adds up from the records, with an oracle of all pairs.
func TestTwoReplicasNeverGiveOneVLANTwice(t *testing.T) {
	w := newWorld(t)
	replicas := []*Component{w.start(), w.start()}
	var all sync.WaitGroup
	for n := range 24 {
		all.Add(1)
		go func() {
			defer all.Done()
			r := rand.New(rand.NewPCG(uint64(n), 7))
			terms := w.frames([]string{"a", "b"}[r.IntN(2)], "c", 1, fmt.Sprintf("%d-%d", 1+r.IntN(2), 3), "any")
			terms.RateBitsPerSecond = 1000
			terms.Start = timestamppb.New(noon.Add(time.Duration(1+r.IntN(4)) * time.Hour))
			terms.End = timestamppb.New(terms.GetStart().AsTime().Add(time.Duration(1+r.IntN(4)) * time.Hour))
			_, err := w.request(replicas[n%2], fmt.Sprint("r", n), terms, true)
			if code := refusalIn(err).GetCode(); err != nil && code != codeVLAN {
				t.Errorf("request %d: %v", n, err)
			}
		}()
	}
	all.Wait()
	var uses []ports.Use
	numbers := map[int32]bool{}
	if err := replicas[0].ledger.Look("", func(records func(func(*circuitsv1.Record) bool)) {
		for r := range records {
			if n := r.GetCircuit().GetNumber(); n == 0 || numbers[n] {
				t.Errorf("circuit %s has number %d", r.GetCircuit().GetId(), n)
			} else {
				numbers[n] = true
			}
			for _, u := range usesOf(r) {
				for _, other := range uses {
					if u.Place == other.Place && u.VLAN == other.VLAN && u.Start < other.End && other.Start < u.End {
						t.Errorf("%v and %v overlap", u, other)
					}
				}
				uses = append(uses, u)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if len(uses) < 12 {
		t.Errorf("only %d uses were booked", len(uses))
	}
}

func TestABatchKeepsVLANsApartWithinItself(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	ask := &circuitsv1.RequestAllRequest{RequestId: "both", By: "ann", Commit: true, Terms: []*circuitsv1.Terms{w.frames("a", "b", 1, "100", "100"), w.frames("a", "c", 1, "100", "100")}}
	_, err := (&api{c}).RequestAll(t.Context(), connect.NewRequest(ask))
	if r := refusalIn(err); r.GetCode() != codeVLAN || r.GetField() != "terms[1].from_port.vlans" {
		t.Fatalf("the second has the VLAN of the first: %v", err)
	}
	ask.Terms[1].FromPort.Vlans = "any"
	r, err := (&api{c}).RequestAll(t.Context(), connect.NewRequest(ask))
	if err != nil || r.Msg.GetCircuits()[1].GetFromVlan() != 1 || r.Msg.GetCircuits()[1].GetNumber() != 2 {
		t.Errorf("the batch: %v, %v", r, err)
	}
}

// Where circuits have all VLANs of a port there is none to offer, and the other port's are not looked for without end.
func TestAPortWithoutAnyVLANLeft(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	if err := c.ledger.Look("", func(func(func(*circuitsv1.Record) bool)) {
		node, err := c.book.topo.Resolve("a")
		if err != nil {
			t.Error(err)
			return
		}
		var all []ports.Use
		for vlan := range ports.Any.Each {
			all = append(all, ports.Use{Place: ports.Place{Router: node.ID.String(), Port: "p1"}, VLAN: vlan, Window: calendar.Window{End: calendar.Forever}})
		}
		c.book.ports.Put("other", 1, all)
	}); err != nil {
		t.Fatal(err)
	}
	_, err := w.request(c, "one", w.frames("a", "b", 1, "any", "300"), true)
	if r := refusalIn(err); r.GetCode() != codeVLAN || r.GetField() != "from_port.vlans" || len(r.GetOffers()) != 0 || len(r.GetBlockers()) == 0 {
		t.Errorf("every VLAN is taken: %v", err)
	}
}

// A port that became slower than what is booked on it keeps nobody from asking for less, and does not take more.
func TestAPortThatBecameSlower(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	got := w.booked(c, "one", w.frames("a", "b", 4, "100", "300"))
	w.mu.Lock()
	w.speed = 2 * giga
	w.mu.Unlock()
	await.True(t, "the topology is read", func() bool {
		q, err := w.quote(c, w.frames("a", "c", 3, "1", "1"))
		return q.GetRefusal() != nil || refusalIn(err) != nil
	})
	is := w.modified(c, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: got.GetVersion(), End: inHours(17)})
	is = w.modified(c, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: is.GetVersion(), RateBitsPerSecond: 3 * giga})
	for name, ask := range map[string]*circuitsv1.ModifyRequest{"a later end": {End: inHours(19)}, "a higher rate": {RateBitsPerSecond: 4 * giga}} {
		ask.Id, ask.Version = is.GetId(), is.GetVersion()
		if _, err := w.modify(c, ask); refusalIn(err).GetCode() != "CAPACITY" || refusalIn(err).GetField() != "from_port" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
