package gnmi

import (
	"maps"
	"slices"
	"sync"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// outbox is what a subscriber has yet to be sent. It holds one value per leaf:
// a reader that is slow gets fewer, newer values, each with the number of those
// it missed in duplicates, and costs no more memory than the leaves it
// subscribed to. Deletions have no such bound, since new names can come and go
// for ever: a reader that leaves too many of them waiting is given up.
type outbox struct {
	filled chan struct{}

	mu        sync.Mutex
	items     map[string]item
	deletions int
	// most deletions may wait for a reader when more are to come; one change may be any number.
	most int
}

const maxDeletions = 10_000

// item is a value or, without update, a deletion.
type item struct {
	at     int64
	update *gnmi.Update
	path   *gnmi.Path
	missed uint32
}

func newOutbox() *outbox {
	return &outbox{filled: make(chan struct{}, 1), items: map[string]item{}, most: maxDeletions}
}

// put adds what was read at one moment.
func (b *outbox) put(at int64, values, gone map[string]leaf) error {
	if len(values)+len(gone) == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.deletions > b.most && len(gone) > 0 {
		return status.Errorf(codes.ResourceExhausted, "more than %d deletions wait for this reader; it is too slow: subscribe again", b.most)
	}
	b.forget(gone)
	for k, l := range gone {
		b.items[k] = item{at: at, path: l.path.Proto()}
		b.deletions++
	}
	for k, l := range values {
		next := item{at: at, update: l.update}
		if old, ok := b.items[k]; ok && old.update != nil {
			next.missed = old.missed + 1
		}
		b.remove(k, b.items[k])
		b.items[k] = next
	}
	select {
	case b.filled <- struct{}{}:
	default:
	}
	return nil
}

// forget drops what waits at and below paths that are gone.
func (b *outbox) forget(gone map[string]leaf) {
	if len(gone) == 0 {
		return
	}
	for k, i := range b.items {
		for at := 1; at <= len(k); at++ {
			if at < len(k) && k[at] != '/' {
				continue
			}
			if _, ok := gone[k[:at]]; ok {
				b.remove(k, i)
				break
			}
		}
	}
}

func (b *outbox) remove(key string, i item) {
	if i.path != nil {
		b.deletions--
	}
	delete(b.items, key)
}

// take empties the outbox into notifications, one per moment of reading, or
// more if they are long, oldest first.
func (b *outbox) take() []*gnmi.Notification {
	b.mu.Lock()
	items := b.items
	b.items, b.deletions = map[string]item{}, 0
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
