package flowstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/store"
)

// applied is a migration that a database has noted.
type applied struct {
	version uint32
	name    string
	// checksum of its file, SHA-256; empty where it was applied before checksums were noted.
	checksum string
}

// fits refuses migrations that are not those that were applied: the tables would have another form than the program
// takes them for.
func fits(known []migration, noted []applied) error {
	for _, a := range noted {
		if int(a.version) > len(known) {
			return fmt.Errorf("the data is of schema %d and this millrace knows %d; run a newer millrace, or restore the backup that was made before the upgrade",
				a.version, len(known))
		}
		if m := known[max(a.version, 1)-1]; a.checksum != "" && a.checksum != m.checksum {
			return fmt.Errorf("migration %s was changed after this database had applied it as %s (SHA-256 %.12s there, %.12s here): run the millrace that made the database, "+
				"or undo the edit; what changes in a table is a further migration", m.name, a.name, a.checksum, m.checksum)
		}
	}
	return nil
}

func checksumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// noted are the migrations of a database, without writing anything; none where it has no tables.
func noted(ctx context.Context, db store.DB) (out []applied, err error) {
	tables, err := store.Tables(ctx, db)
	if err != nil || !slices.Contains(tables, "migrations") {
		return nil, err
	}
	columns, err := hasChecksums(ctx, db)
	if err != nil {
		return nil, err
	}
	sum := "''"
	if columns {
		sum = "checksum"
	}
	rows, err := db.Query(store.Complete(ctx), "SELECT version, name, "+sum+" FROM migrations ORDER BY version DESC, 3 DESC")
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var a applied
		if err := rows.Scan(&a.version, &a.name, &a.checksum); err != nil {
			return nil, fmt.Errorf("read the migrations: %w", err)
		}
		out = append(out, a)
	}
	return out, rows.Err()
}

func hasChecksums(ctx context.Context, db store.DB) (bool, error) {
	rows, err := db.Query(ctx, "SELECT count() FROM system.columns WHERE database = currentDatabase() AND table = 'migrations' AND name = 'checksum'")
	if err != nil {
		return false, fmt.Errorf("read the columns of migrations: %w", err)
	}
	defer rows.Close()
	var n uint64
	for rows.Next() {
		if err := rows.Scan(&n); err != nil {
			return false, fmt.Errorf("read the columns of migrations: %w", err)
		}
	}
	return n > 0, rows.Err()
}

// note writes that a migration was applied, or what it was applied as: of a version that was noted without a checksum
// there are two rows then.
func (m migration) note(ctx context.Context, db store.DB) error {
	return db.Insert(ctx, store.Batch{Table: "migrations", Columns: []store.Column{
		{Name: "version", Type: "UInt32", Values: []uint32{m.version}},
		{Name: "name", Type: "String", Values: []string{m.name}},
		{Name: "applied", Type: milliseconds, Values: []time.Time{time.Now()}},
		{Name: "checksum", Type: "String", Values: []string{m.checksum}},
	}})
}

// unsummed are the migrations that were applied without a note of their checksum.
func unsummed(known []migration, noted []applied) (out []migration) {
	for _, m := range known {
		of := func(a applied) bool { return a.version == m.version }
		summed := func(a applied) bool { return of(a) && a.checksum != "" }
		if slices.ContainsFunc(noted, of) && !slices.ContainsFunc(noted, summed) {
			out = append(out, m)
		}
	}
	return out
}
