package flowstore

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migration is one numbered file. A file once released is never edited; what
// changes later is a new file.
type migration struct {
	version  uint32
	name     string
	checksum string
	// statements are separated by a semicolon at the end of a line.
	statements []string
}

// loadMigrations reads them in the order of their numbers.
func loadMigrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	var all []migration
	for i, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.ParseUint(number, 10, 32)
		if err != nil || version != uint64(i+1) {
			return nil, fmt.Errorf("migration %s: want number %d", name, i+1)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		all = append(all, migration{uint32(version), path.Base(name), checksumOf(text), statements(string(text))})
	}
	return all, nil
}

func statements(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ";\n") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// migrate brings the schema up to date.
func migrate(ctx context.Context, db store.DB) error {
	known, err := KnownSchema()
	if err != nil {
		return err
	}
	return Migrate(ctx, db, known)
}

// KnownSchema is the version of the newest migration.
func KnownSchema() (uint32, error) {
	all, err := loadMigrations(migrations)
	return uint32(len(all)), err
}

// Schema is the version of a database's tables; 0 where there are none.
func Schema(ctx context.Context, db store.DB) (uint32, error) {
	tables, err := store.Tables(ctx, db)
	if err != nil || !slices.Contains(tables, "migrations") {
		return 0, err
	}
	return schemaVersion(ctx, db)
}

// Migrate brings the schema to a version. Each statement is idempotent, so a migration that was cut off is simply run
// again. A database of a newer millrace, or one whose migrations are not those of this one, is refused before anything
// is written.
func Migrate(ctx context.Context, db store.DB, to uint32) error {
	all, err := loadMigrations(migrations)
	if err != nil {
		return err
	}
	return migrateBy(ctx, db, all, to)
}

func migrateBy(ctx context.Context, db store.DB, all []migration, to uint32) error {
	before, err := noted(ctx, db)
	if err == nil {
		err = fits(all, before)
	}
	if err != nil {
		return err
	}
	if err := makeMigrations(ctx, db); err != nil {
		return fmt.Errorf("make the table of migrations: %w", err)
	}
	for _, m := range unsummed(all, before) {
		if err := m.note(ctx, db); err != nil {
			return fmt.Errorf("note the checksum of %s: %w", m.name, err)
		}
	}
	at, err := schemaVersion(ctx, db)
	if err != nil {
		return err
	}
	for _, m := range all[at:max(at, to)] {
		if err := m.apply(ctx, db); err != nil {
			return fmt.Errorf("migration %s: %w", m.name, err)
		}
	}
	return nil
}

// makeMigrations makes the table of migrations where it is missing or has no checksums. A cluster with a server that is
// away would wait for it, so a start must not make what is there.
func makeMigrations(ctx context.Context, db store.DB) error {
	made, err := hasChecksums(ctx, db)
	if err != nil || made {
		return err
	}
	for _, sql := range []string{
		"CREATE TABLE IF NOT EXISTS migrations (version UInt32, name String, applied DateTime64(3, 'UTC'), checksum String) ENGINE = MergeTree ORDER BY version",
		"ALTER TABLE migrations ADD COLUMN IF NOT EXISTS checksum String", // of a database from before checksums
	} {
		if err := db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

func (m migration) apply(ctx context.Context, db store.DB) error {
	for _, sql := range m.statements {
		if err := db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return m.note(ctx, db)
}

func schemaVersion(ctx context.Context, db store.DB) (uint32, error) {
	version, err := one[uint32](store.Complete(ctx), db, "SELECT max(version) FROM migrations")
	if err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	return version, nil
}

// setRetention is not a migration, because it follows the configuration. What
// is older disappears in background merges, whole days first. A part notes when
// it ends, and a day that is one part is not merged again: where parts have
// noted another retention, the engine notes it anew, in the background and
// from a part's times alone (recalculateOnly).
func setRetention(ctx context.Context, db store.DB, table, column string, keep time.Duration) error {
	engine, err := engineOf(ctx, db, table)
	if err != nil {
		return err
	}
	seconds := int64(keep.Seconds())
	changes := []string{fmt.Sprintf("MODIFY TTL toDateTime(%s) + toIntervalSecond(%d) SETTINGS materialize_ttl_after_modify = 0", column, seconds)}
	if keep == 0 {
		if !hasTTL(engine) {
			return nil
		}
		changes = []string{"REMOVE TTL SETTINGS materialize_ttl_after_modify = 0"}
	} else if others, err := notedOtherwise(ctx, db, table, seconds); err != nil {
		return err
	} else if others {
		if !strings.Contains(engine, recalculateOnly) {
			changes = append(changes, "MODIFY SETTING "+recalculateOnly+" = 1")
		}
		changes = append(changes, "MATERIALIZE TTL SETTINGS mutations_sync = 0")
	}
	for _, c := range changes {
		if err := db.Exec(ctx, "ALTER TABLE "+table+" "+c); err != nil {
			return fmt.Errorf("set the retention of %s: %w", table, err)
		}
	}
	return nil
}

// recalculateOnly keeps a change of the retention from writing all parts anew.
const recalculateOnly = "materialize_ttl_recalculate_only"

// notedOtherwise reports whether a part ends at another time than the day, or
// month, that it is of and the retention say.
func notedOtherwise(ctx context.Context, db store.DB, table string, seconds int64) (bool, error) {
	parts, err := one[uint64](ctx, db, `SELECT count() FROM system.parts WHERE database = currentDatabase() AND table = ? AND active AND rows > 0
		AND NOT startsWith(toString(toYYYYMMDD(delete_ttl_info_max - toIntervalSecond(?), 'UTC')), partition)`, table, seconds)
	if err != nil {
		return false, fmt.Errorf("read until when parts of %s are kept: %w", table, err)
	}
	return parts > 0, nil
}

// engineOf is a table's engine with its settings, as it would be made.
func engineOf(ctx context.Context, db store.DB, table string) (string, error) {
	engine, err := one[string](ctx, db, "SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = ?", table)
	if err != nil {
		return "", fmt.Errorf("read the definition of %s: %w", table, err)
	}
	return engine, nil
}

// one is the value of the last row, or none where there is no row.
func one[T any](ctx context.Context, db store.DB, sql string, args ...any) (value T, err error) {
	rows, err := db.Query(ctx, sql, args...)
	if err != nil {
		return value, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&value); err != nil {
			return value, err
		}
	}
	return value, rows.Err()
}

func hasTTL(engine string) bool { return strings.Contains(engine, " TTL ") }
