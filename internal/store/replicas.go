package store

import (
	"context"
	"fmt"
	"slices"
)

// Replica is what a server says of one of its replicated tables.
type Replica struct {
	Table string
	// Path is where ZooKeeper has what it knows of this replica.
	Path string
	// Missing is how many parts the server knows of and does not have yet.
	Missing uint64
	// LogEnd is the number of the newest entry of the table's log in ZooKeeper, and Read the number of the first one
	// that the server has not read. Both are 0 while the log is empty.
	LogEnd, Read uint64
	// ReadOnly: the server does not reach ZooKeeper; it neither takes rows nor hears of those that others took.
	ReadOnly bool
	// Total is how many replicas there are, Active how many of them reach ZooKeeper.
	Total, Active uint64
}

// holds reports whether the replica has all that was in the log up to an entry.
func (r Replica) holds(entry uint64) bool {
	return !r.ReadOnly && r.Missing == 0 && (r.Read > entry || entry == 0)
}

// Behind reports whether the replica lacks rows that others may have.
func (r Replica) Behind() bool { return !r.holds(r.LogEnd) }

// The types of these columns changed between versions, hence the casts. A server whose session with ZooKeeper has
// expired reports 0 for all that ZooKeeper has, as if the log were empty.
const replicasSQL = `SELECT table, replica_path, toUInt64(inserts_in_queue), toUInt64(log_max_index), toUInt64(log_pointer),
	toUInt64(is_readonly OR is_session_expired), toUInt64(total_replicas), toUInt64(active_replicas)
	FROM system.replicas WHERE database = currentDatabase() ORDER BY table`

// Replicas are those of a server.
func Replicas(ctx context.Context, db DB) (out []Replica, err error) {
	rows, err := db.Query(ctx, replicasSQL)
	if err != nil {
		return nil, fmt.Errorf("read the state of replicas: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var r Replica
		var readOnly uint64
		if err := rows.Scan(&r.Table, &r.Path, &r.Missing, &r.LogEnd, &r.Read, &readOnly, &r.Total, &r.Active); err != nil {
			return nil, fmt.Errorf("read the state of replicas: %w", err)
		}
		r.ReadOnly = readOnly != 0
		out = append(out, r)
	}
	return out, rows.Err()
}

// ends are the newest entries of the logs that replicas know of.
func ends(replicas []Replica) map[string]uint64 {
	out := map[string]uint64{}
	for _, r := range replicas {
		out[r.Table] = r.LogEnd
	}
	return out
}

// whole reports whether every replica has all that the logs had.
func whole(replicas []Replica, had map[string]uint64) bool {
	for _, r := range replicas {
		if !r.holds(had[r.Table]) {
			return false
		}
	}
	return true
}

// readOnly reports whether some replica does not reach ZooKeeper.
func readOnly(replicas []Replica) bool {
	return slices.ContainsFunc(replicas, func(r Replica) bool { return r.ReadOnly })
}

// alone reports whether a replica of another server is away: what only that one has, nobody can wait for.
func alone(replicas []Replica) bool {
	return slices.ContainsFunc(replicas, func(r Replica) bool { return r.Active < r.Total })
}
