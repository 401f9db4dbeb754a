package flowstore

import (
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/store"
)

func TestMigrationsThatFit(t *testing.T) {
	known := []migration{{version: 1, name: "0001_a.sql", checksum: "aa"}, {version: 2, name: "0002_b.sql", checksum: "bb"}}
	for name, c := range map[string]struct {
		noted []applied
		says  string
		sum   []string // those whose checksum is noted now
	}{
		"an empty database":           {nil, "", nil},
		"one that lags behind":        {[]applied{{1, "0001_a.sql", "aa"}}, "", nil},
		"one that is up to date":      {[]applied{{2, "0002_b.sql", "bb"}, {1, "0001_a.sql", "aa"}}, "", nil},
		"one from before checksums":   {[]applied{{2, "0002_b.sql", ""}, {1, "0001_a.sql", ""}}, "", []string{"0001_a.sql", "0002_b.sql"}},
		"one that was noted later":    {[]applied{{1, "0001_a.sql", "aa"}, {1, "0001_a.sql", ""}}, "", nil},
		"a newer millrace's":          {[]applied{{3, "0003_c.sql", "cc"}, {2, "0002_b.sql", "bb"}}, "the data is of schema 3 and this millrace knows 2; run a newer millrace", nil},
		"an edited file":              {[]applied{{1, "0001_a.sql", "ab"}}, "migration 0001_a.sql was changed after this database had applied it", nil},
		"another file of the version": {[]applied{{2, "0002_c.sql", "cc"}}, "had applied it as 0002_c.sql", nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := fits(known, c.noted)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
			var sum []string
			for _, m := range unsummed(known, c.noted) {
				sum = append(sum, m.name)
			}
			if err == nil && !slices.Equal(sum, c.sum) {
				t.Errorf("the checksums of %v are noted now, want %v", sum, c.sum)
			}
		})
	}
}

// An edited migration is refused by the database that has applied it, and so is a newer one's, before anything is
// written.
func TestARefusedDatabaseIsLeftAsItIs(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	db := *r.comp.db.Load()
	all, err := loadMigrations(migrations)
	if err != nil {
		t.Fatal(err)
	}
	edited := slices.Clone(all)
	edited[2].checksum = checksumOf([]byte("edited"))
	edited = append(edited, migration{version: uint32(len(all) + 1), name: "further.sql", statements: []string{"CREATE TABLE further (n UInt8) ENGINE = MergeTree ORDER BY n"}})
	for says, known := range map[string][]migration{"was changed after": edited, "knows 2": all[:2]} {
		if err := migrateBy(t.Context(), db, known, uint32(len(known))); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	tables, err := store.Tables(t.Context(), db)
	if err != nil || slices.Contains(tables, "further") || r.count("SELECT count() FROM migrations") != uint64(len(all)) {
		t.Errorf("a refused program made tables: %v, %v", tables, err)
	}
	if n := r.count("SELECT count() FROM migrations WHERE length(checksum) = 64"); n != uint64(len(all)) {
		t.Errorf("%d migrations have a checksum, want all %d", n, len(all))
	}
}
