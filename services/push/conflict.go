package push

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/driver"
)

// errConflict means that unmanaged config is in the way of a change set.
var errConflict = errors.New("conflicts with unmanaged config")

// inTheWay is the first of these conflicts, as an error that ends with what to do.
func inTheWay(conflicts []driver.Conflict, do string) error {
	if len(conflicts) == 0 {
		return nil
	}
	return fmt.Errorf("%s %w: %s%s", conflicts[0].Path, errConflict, conflicts[0].With, do)
}

// replaced are the conflicts in which a write takes the unmanaged config away.
func replaced(conflicts []driver.Conflict) (out []driver.Conflict) {
	for _, c := range conflicts {
		if !c.Stays {
			out = append(out, c)
		}
	}
	return out
}

// touchedBy are the entries that these changes write, empty where they delete one.
func touchedBy(changes []diff.Change) map[string]string {
	out := make(map[string]string, len(changes))
	for _, c := range changes {
		out[c.Path] = c.After
	}
	return out
}

// written are the entries that a router with this running config is sent for the intended one, empty where one goes.
func written(running, intended map[string]string) map[string]string {
	out := maps.Clone(intended)
	for path := range running {
		if _, stays := intended[path]; !stays {
			out[path] = ""
		}
	}
	return out
}

// unbound fails if an operator has bound something where these changes write or delete. What takes a router back to
// what it had is kept from that only where the operator's would be lost.
func unbound(ctx context.Context, d driver.Driver, running driver.Snapshot, changes []diff.Change, back bool) error {
	found, err := d.Conflicts(ctx, running, touchedBy(changes))
	if err != nil {
		return err
	}
	if back {
		return inTheWay(replaced(found), ", so it was sent nothing; remove that, and request the rollback again")
	}
	return inTheWay(found, ", so it was sent nothing; remove that, or leave the interface out, and request a new change set")
}

// commitUnbound commits where nothing is in the way of that: an operator may have bound something since the check,
// while other routers were changed or the canary was watched.
func commitUnbound(ctx context.Context, d driver.Driver, as driver.Master, c driver.Commit, back bool) error {
	running, err := d.Snapshot(ctx)
	if err == nil {
		err = unbound(ctx, d, running, c.Changes, back)
	}
	if err != nil {
		return err
	}
	return d.Commit(ctx, as, c)
}
