package gnmi

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"
)

// outbox is what a subscriber has yet to be sent. It holds one value per leaf:
// a reader that is slow gets fewer, newer values, each with the number of those
// it missed in duplicates, and costs no more memory than the leaves it
// subscribed to.
type outbox struct {
	filled chan struct{}

	mu    sync.Mutex
	items map[string]item
}

// item is a value or, without update, a deletion.
type item struct {
	at     int64
	update *gnmi.Update
	path   *gnmi.Path
	missed uint32
}

func newOutbox() *outbox { return &outbox{filled: make(chan struct{}, 1), items: map[string]item{}} }

// put adds what was read at one moment.
func (b *outbox) put(at int64, values, gone map[string]leaf) {
	if len(values)+len(gone) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, l := range gone {
		for under := range b.items {
			if strings.HasPrefix(under, k+"/") {
				delete(b.items, under)
			}
		}
		b.items[k] = item{at: at, path: l.path.Proto()}
	}
	for k, l := range values {
		next := item{at: at, update: l.update}
		if old, ok := b.items[k]; ok && old.update != nil {
			next.missed = old.missed + 1
		}
		b.items[k] = next
	}
	select {
	case b.filled <- struct{}{}:
	default:
	}
}

// take empties the outbox into notifications, one per moment of reading, or
// more if they are long, oldest first.
func (b *outbox) take() []*gnmi.Notification {
	b.mu.Lock()
	items := b.items
	b.items = map[string]item{}
	b.mu.Unlock()
	byTime := map[int64][]string{}
	for k, i := range items {
		byTime[i.at] = append(byTime[i.at], k)
	}
	var out []*gnmi.Notification
	for _, at := range slices.Sorted(maps.Keys(byTime)) {
		slices.Sort(byTime[at])
		for some := range slices.Chunk(byTime[at], maxUpdates) {
			out = append(out, bundle(at, some, items))
		}
	}
	return out
}

func bundle(at int64, keys []string, items map[string]item) *gnmi.Notification {
	n := &gnmi.Notification{Timestamp: at}
	for _, k := range keys {
		i := items[k]
		if i.update == nil {
			n.Delete = append(n.Delete, i.path)
			continue
		}
		u := i.update
		if i.missed > 0 {
			u = proto.Clone(u).(*gnmi.Update)
			u.Duplicates = i.missed
		}
		n.Update = append(n.Update, u)
	}
	return n
}
