package push

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/state"
)

const keyLocks = "locks/routers/"

// lock takes the locks of all routers for a change set, or none. A lock that
// the same change set holds already is taken over: a process that died left it.
func (c *Component) lock(ctx context.Context, change string, routers []string) (*state.Lock, error) {
	keys := make([]string, len(routers))
	for i, router := range slices.Sorted(slices.Values(routers)) { // in one order for all, or two could each hold what the other wants
		keys[i] = keyLocks + router
	}
	held, err := c.deps.State.Lock(ctx, change, c.cfg.LockTTL, keys...)
	var holder *state.HeldError
	if errors.As(err, &holder) {
		return nil, fmt.Errorf("router %s is locked by change set %s, which is being applied; try again when it is done",
			strings.TrimPrefix(holder.Key, keyLocks), holder.Owner)
	}
	return held, err
}
