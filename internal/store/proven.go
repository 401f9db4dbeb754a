package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// errUnproven: a server shows rows that it will throw away.
var errUnproven = errors.New("ZooKeeper does not know some of its parts, which the server removes within minutes")

// prove refuses a server that shows rows of a table in the statement of which ZooKeeper does not know. A server that
// loses ZooKeeper while it stores a part keeps the part and says that its fate is unknown. If ZooKeeper never heard of
// it, no other server will have it, the same insert again makes another part, and the server throws this one away after
// five minutes (MAX_AGE_OF_LOCAL_PART_THAT_WASNT_ADDED_TO_ZOOKEEPER in ClickHouse).
func prove(ctx context.Context, db DB, replicas []Replica, sql string) error {
	for _, r := range replicas {
		if !strings.Contains(sql, r.Table) {
			continue
		}
		// In this order: a part is in ZooKeeper before it is active, and stays there for minutes after it was merged.
		active, err := namesIn(ctx, db, "SELECT name FROM system.parts WHERE active AND database = currentDatabase() AND table = ?", r.Table)
		if err != nil {
			return fmt.Errorf("read the parts of table %s: %w", r.Table, err)
		}
		known, err := namesIn(ctx, db, "SELECT name FROM system.zookeeper WHERE path = ?", r.Path+"/parts")
		if err != nil {
			return fmt.Errorf("read the parts of table %s in ZooKeeper: %w", r.Table, err)
		}
		if extra := unproven(active, known); len(extra) > 0 {
			return fmt.Errorf("table %s: %d parts, such as %s: %w", r.Table, len(extra), extra[0], errUnproven)
		}
	}
	return nil
}

// unproven are the parts that a server shows and ZooKeeper does not know.
func unproven(active, known []string) []string {
	slices.Sort(known)
	return slices.DeleteFunc(slices.Clone(active), func(name string) bool {
		_, found := slices.BinarySearch(known, name)
		return found
	})
}

func namesIn(ctx context.Context, db DB, sql string, args ...any) (out []string, err error) {
	rows, err := db.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, rows.Err()
}
