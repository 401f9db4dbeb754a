package plane

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/configentry"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// Book is the routers' configuration by the records of change sets. Where a record leaves it open, it may
// be one of several.
type Book struct {
	mu sync.Mutex
	// Seen is how each change set had ended when it was last read.
	Seen map[string]pushv1.State
	// may are the states that a router may be in; there is one as soon as it was looked at.
	may map[string][]map[string]string
	// Looked counts comparisons of a router with it, Wrong are the ones that failed.
	Looked int
	// Octets is the size of all change sets.
	Octets int
	Wrong  []string
}

// NewBook is of routers that hold nothing.
func NewBook() *Book {
	return &Book{Seen: map[string]pushv1.State{}, may: map[string][]map[string]string{"WR": {{}}, "ER": {{}}}}
}

// Enter takes change sets that have all ended, and returns those that are new to it.
func (b *Book) Enter(all []*pushv1.ChangeSet) (fresh []*pushv1.ChangeSet) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all = slices.SortedFunc(slices.Values(all), func(x, y *pushv1.ChangeSet) int { return moved(x).Compare(moved(y)) })
	for _, cs := range all {
		was, known := b.Seen[cs.GetId()]
		if known && was == cs.GetState() {
			continue
		}
		if !known {
			fresh = append(fresh, cs)
			b.Octets += proto.Size(cs)
		}
		b.Seen[cs.GetId()] = cs.GetState()
		for _, d := range cs.GetDevices() {
			b.move(d, was, cs.GetState())
		}
	}
	return fresh
}

// Applied is when a change set began to be sent.
func Applied(cs *pushv1.ChangeSet) time.Time {
	for _, h := range cs.GetHistory() {
		if h.GetState() == pushv1.State_STATE_APPLYING {
			return h.GetTime().AsTime()
		}
	}
	return time.Time{}
}

// moved is when it ended.
func moved(cs *pushv1.ChangeSet) time.Time {
	return cs.GetHistory()[len(cs.GetHistory())-1].GetTime().AsTime()
}

// move is what a change set did to a router, from one end of it to the next.
func (b *Book) move(d *pushv1.DeviceChange, was, is pushv1.State) {
	before, after := func(e *pushv1.EntryChange) string { return e.GetBefore() }, func(e *pushv1.EntryChange) string { return e.GetAfter() }
	had := was == pushv1.State_STATE_VERIFIED
	has, sure := is == pushv1.State_STATE_VERIFIED, is != pushv1.State_STATE_FAILED
	if !sure {
		switch d.GetState() {
		case pushv1.DeviceState_DEVICE_STATE_CONFIRMED:
			has, sure = true, true
		case pushv1.DeviceState_DEVICE_STATE_ROLLED_BACK, pushv1.DeviceState_DEVICE_STATE_PLANNED:
			has, sure = false, true
		}
	}
	var next []map[string]string
	for _, m := range b.may[d.GetDevice()] {
		if !sure || has == had {
			next = append(next, m)
		}
		if has != had || !sure {
			to := after
			if had {
				to = before
			}
			next = append(next, with(m, d.GetEntries(), to))
		}
	}
	b.may[d.GetDevice()] = next
}

// with is a router's state after entries were changed.
func with(m map[string]string, changes []*pushv1.EntryChange, to func(*pushv1.EntryChange) string) map[string]string {
	m = maps.Clone(m)
	for _, e := range changes {
		if body := to(e); body != "" {
			m[e.GetPath()] = body
		} else {
			delete(m, e.GetPath())
		}
	}
	return m
}

// Hold compares a router with what it may be.
func (b *Book) Hold(router string, entries map[string]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Looked++
	if !slices.ContainsFunc(b.may[router], func(m map[string]string) bool { return maps.EqualFunc(m, entries, configentry.JSONIETF.Equal) }) {
		b.Wrong = append(b.Wrong, fmt.Sprintf("%s holds %d entries, and by the records it would be %s", router, len(entries), difference(b.may[router][0], entries)))
	}
	b.may[router] = []map[string]string{entries}
}

// difference names the entries that are not the same.
func difference(want, got map[string]string) (out []string) {
	for path := range want {
		if got[path] != want[path] {
			out = append(out, fmt.Sprintf("%s: record %q, router %q", path, want[path], got[path]))
		}
	}
	for path := range got {
		if _, known := want[path]; !known {
			out = append(out, fmt.Sprintf("%s: no record, router %q", path, got[path]))
		}
	}
	slices.Sort(out)
	return out
}
