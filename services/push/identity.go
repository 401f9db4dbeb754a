package push

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/services/push/driver"
)

// keyIdentity names this store towards routers: revisions of another one, such as one that was made anew, are not
// to be compared with those of this.
const keyIdentity = "identity"

// identity is this process's copy of that name.
type identity struct {
	sync.Mutex
	// seen has, for each name that was read, how often etcd had come back with older data by then.
	seen map[string]uint64
}

// inUse reports whether a name was used before etcd came back with older data for the last time.
func (i *identity) inUse(name string, rewound uint64) bool {
	then, known := i.seen[name]
	return known && then < rewound
}

// master is how routers distinguish the runs of this store, and earlier from later ones. The locks must still be held:
// those that were taken before etcd came back with older data have a higher revision than later ones.
func (c *Component) master(ctx context.Context, held *state.Lock) (driver.Master, error) {
	name, err := c.currentIdentity(ctx)
	if err == nil {
		err = held.Check(ctx)
	}
	if err != nil {
		return driver.Master{}, err
	}
	return driver.Master{Role: name, Term: uint64(held.Revision())}, nil
}

// currentIdentity reads the name. An etcd that came back with older data repeats revisions that routers
// have seen, so a name that was in use before is replaced: by the first process that notices, since its
// name is new to the others. A process can only recognise names that it has read, so it reads them when it
// starts and at intervals, whether it sends something or not.
func (c *Component) currentIdentity(ctx context.Context) (string, error) {
	c.identity.Lock()
	defer c.identity.Unlock()
	for {
		before, _ := c.deps.State.Rewound()
		name, revision, err := c.readIdentity(ctx)
		if err == nil && c.identity.inUse(name, before) {
			name, err = c.newIdentity(ctx, revision)
		}
		if err != nil {
			return "", err
		}
		// Where etcd came back meanwhile, it is unknown whether the name is of the time before.
		if after, _ := c.deps.State.Rewound(); after == before {
			c.identity.seen[name] = after
			return name, nil
		}
	}
}

// readIdentity makes one where there is none.
func (c *Component) readIdentity(ctx context.Context) (name string, revision int64, err error) {
	id := &wrapperspb.StringValue{}
	revision, err = c.deps.State.Get(ctx, keyIdentity, id)
	if errors.Is(err, state.ErrNotFound) {
		name, err = c.newIdentity(ctx, 0)
		return name, 0, err
	}
	return id.GetValue(), revision, err
}

// newIdentity replaces the one at a revision; where another process does so first, its is taken.
func (c *Component) newIdentity(ctx context.Context, revision int64) (string, error) {
	id := wrapperspb.String("millrace-" + strings.ToLower(rand.Text()[:8]))
	_, err := c.deps.State.Put(ctx, keyIdentity, revision, id)
	if errors.Is(err, state.ErrConflict) {
		_, err = c.deps.State.Get(ctx, keyIdentity, id)
	}
	return id.GetValue(), err
}
