package flowstore

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/flowrecord"
)

// A record that differs in any field gives a different row.
func TestEveryFieldIsStored(t *testing.T) {
	row := func(r flowrecord.Record) any { return flowColumns([]dayPart{{block: blockOf(r)}}) }
	empty := row(flowrecord.Record{})
	fields := reflect.TypeFor[flowrecord.Record]()
	for i := range fields.NumField() {
		var r flowrecord.Record
		fill(t, reflect.ValueOf(&r).Elem().Field(i))
		if reflect.DeepEqual(row(r), empty) {
			t.Errorf("flowrecord.Record has %s, which no column of flowColumns stores", fields.Field(i).Name)
		}
	}
}

// fill gives a field some value other than zero.
func fill(t *testing.T, field reflect.Value) {
	switch v := field.Addr().Interface().(type) {
	case *netip.Addr:
		*v = netip.MustParseAddr("192.0.2.1")
	case *time.Time:
		*v = time.Unix(1, 0)
	default:
		if !field.CanUint() {
			t.Fatalf("no value of type %s is known here", field.Type())
		}
		field.SetUint(1)
	}
}

// testdata/migrations.sha256 has the sum of each file. Installations have applied these statements.
func TestMigrationsAreNotEdited(t *testing.T) {
	want, err := os.ReadFile("testdata/migrations.sha256")
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, name := range names {
		text, err := migrations.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%x  %s\n", sha256.Sum256(text), name)
	}
	if diff := cmp.Diff(strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")); diff != "" {
		t.Errorf("a released migration is never edited: undo the edit and write a new file; add the sum of a new file to testdata/migrations.sha256 (-got +want):\n%s", diff)
	}
}

func TestEveryTableIsOnItsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/flowstore.md")
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	created := regexp.MustCompile(`(?i)CREATE TABLE (?:IF NOT EXISTS )?(\w+)`)
	for _, name := range names {
		text, err := migrations.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range created.FindAllSubmatch(text, -1) {
			if !strings.Contains(string(page), "\n| `"+string(m[1])+"` |") {
				t.Errorf("table %s of %s has no row in docs/reference/flowstore.md", m[1], name)
			}
		}
	}
}
