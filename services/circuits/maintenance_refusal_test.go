package circuits

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// blamed is the maintenance that the blockers of a refusal name, each once.
func blamed(no *circuitsv1.Refusal) (ids []string) {
	for _, k := range no.GetBlockers() {
		ids = append(ids, k.GetMaintenance()...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// A refusal names the maintenance that takes what the request lacks, in its blockers and in its sentence, and no other:
// none where there is room anyway, none outside of the window that lacks room, none on other links.
func TestARefusalNamesTheMaintenanceBehindIt(t *testing.T) {
	whole, part, router := outage("LINK", linkID("a", "b")), outage("PART", linkID("b", "c")), outage("ROUTER")
	part.LeftBitsPerSecond = 8 * giga // of 10; circuits may have 4 of their 5
	router.Routers = []string{"c"}
	for name, c := range map[string]struct {
		planned []*circuitsv1.AddMaintenanceRequest
		booked  int64 // by the one link from a to b, until 23:00
		ask     func(*circuitsv1.Terms)
		code    string // empty: granted
		names   []string
	}{
		"the only link":                {[]*circuitsv1.AddMaintenanceRequest{whole}, 0, func(t *circuitsv1.Terms) { t.MaxHops = 1 }, "CAPACITY", []string{"LINK"}},
		"it begins when the work does": {[]*circuitsv1.AddMaintenanceRequest{whole}, 0, func(t *circuitsv1.Terms) { t.MaxHops, t.Start = 1, at(13) }, "", nil},
		"it ends when the work begins": {[]*circuitsv1.AddMaintenanceRequest{whole}, 0, func(t *circuitsv1.Terms) { t.MaxHops, t.End = 1, at(11) }, "", nil},
		"there is another path":        {[]*circuitsv1.AddMaintenanceRequest{whole}, 0, nil, "", nil},
		"a part is enough":             {[]*circuitsv1.AddMaintenanceRequest{whole, part}, 0, nil, "", nil},
		"a part is not":                {[]*circuitsv1.AddMaintenanceRequest{whole, part}, 0, func(t *circuitsv1.Terms) { t.RateBitsPerSecond = 5 * giga }, "CAPACITY", []string{"LINK", "PART"}},
		"a part that matters to no path with room otherwise": {
			[]*circuitsv1.AddMaintenanceRequest{part}, 0, func(t *circuitsv1.Terms) { t.RateBitsPerSecond = 6 * giga }, "CAPACITY", nil,
		},
		"a router leaves no path":   {[]*circuitsv1.AddMaintenanceRequest{router}, 0, func(t *circuitsv1.Terms) { t.To = "c" }, "CAPACITY", []string{"ROUTER"}},
		"a router and a link":       {[]*circuitsv1.AddMaintenanceRequest{whole, router}, 0, nil, "CAPACITY", []string{"LINK", "ROUTER"}},
		"it lacks room before":      {[]*circuitsv1.AddMaintenanceRequest{part}, 5, func(t *circuitsv1.Terms) { t.MaxHops = 1 }, "CAPACITY", nil},
		"a backup":                  {[]*circuitsv1.AddMaintenanceRequest{whole}, 0, func(t *circuitsv1.Terms) { t.Protection = circuitsv1.Protection_PROTECTION_LINK_DISJOINT }, "CAPACITY", []string{"LINK"}},
		"a volume that is too late": {[]*circuitsv1.AddMaintenanceRequest{whole}, 0, volume(8, 1), "CAPACITY", []string{"LINK"}},
		"a volume, a part that it has": {
			[]*circuitsv1.AddMaintenanceRequest{partOf(whole, 8)}, 5, volume(8, 1), "CAPACITY", nil,
		},
		"a volume, a part that it lacks": {
			[]*circuitsv1.AddMaintenanceRequest{partOf(whole, 1)}, 5, volume(8, 1), "CAPACITY", []string{"LINK"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			replica := w.start()
			if c.booked > 0 {
				first := w.terms("a", "b", c.booked)
				first.End = at(11)
				w.booked(replica, "first", first)
			}
			for _, m := range c.planned {
				w.maintained(replica, m)
			}
			terms := w.terms("a", "b", 3)
			if c.ask != nil {
				c.ask(terms)
			}
			_, err := w.request(replica, "r", terms, true)
			no := refusalIn(err)
			if (err == nil) != (c.code == "") || no.GetCode() != c.code || !slices.Equal(blamed(no), c.names) {
				t.Fatalf("%v; it names %v, want %s and %v", err, blamed(no), c.code, c.names)
			}
			for _, id := range []string{"LINK", "PART", "ROUTER"} {
				if said := strings.Contains(no.GetReason(), id+" (new fibre, planned by noc)"); said != slices.Contains(c.names, id) {
					t.Errorf("the sentence names %s: %v; %s", id, said, no.GetReason())
				}
			}
		})
	}
}

// at is so many hours after noon.
func at(hours int) *timestamppb.Timestamp {
	return timestamppb.New(noon.Add(time.Duration(hours) * time.Hour))
}

// volume is so many hours at a rate, Gbit/s, by the one link, in the window of terms.
func volume(hours, gbit int64) func(*circuitsv1.Terms) {
	return func(t *circuitsv1.Terms) {
		t.MaxHops, t.RateBitsPerSecond, t.VolumeBytes = 1, gbit*giga, gbit*giga/8*3600*hours
	}
}

// partOf is a maintenance that leaves so many Gbit/s of its links.
func partOf(m *circuitsv1.AddMaintenanceRequest, gbit int64) *circuitsv1.AddMaintenanceRequest {
	return &circuitsv1.AddMaintenanceRequest{Id: m.GetId(), Links: m.GetLinks(), By: m.GetBy(), Reason: m.GetReason(), Start: m.GetStart(), End: m.GetEnd(), LeftBitsPerSecond: gbit * giga}
}
