package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
	"github.com/google/uuid"
)

// markTable is there while a restore is under way, and after one that was cut off.
const markTable = "restoring"

// ErrHalfRestored means that a restore into the database was cut off.
var ErrHalfRestored = errors.New("ClickHouse holds a part of a backup only, because a restore was interrupted; run `millrace restore --force` again")

// transferRows is how many rows a block of an export has.
const transferRows = 100_000

// maxBlock bounds the length that a block of a file may claim.
const maxBlock = 1 << 30

// Tables are the database's, without the mark of a restore.
func Tables(ctx context.Context, db DB) ([]string, error) {
	all, err := allTables(ctx, db)
	return slices.DeleteFunc(all, func(name string) bool { return name == markTable }), err
}

func allTables(ctx context.Context, db DB) ([]string, error) {
	return texts(ctx, db, "SELECT name FROM system.tables WHERE database = currentDatabase() AND NOT is_temporary ORDER BY name")
}

// newest is a setting of the first version, 24.1, that has what statements and queries need: the youngest of it is that
// an IPv6 address is a number (toUInt128).
const newest = "ignore_materialized_views_with_dropped_target_table"

// Supported refuses a server that is too old for the tables.
func Supported(ctx context.Context, db DB) error {
	found, err := texts(ctx, db, "SELECT name FROM system.settings WHERE name = '"+newest+"'")
	if err != nil || len(found) > 0 {
		return err
	}
	version, err := texts(ctx, db, "SELECT version()")
	if err != nil {
		return err
	}
	return fmt.Errorf("ClickHouse %s is too old for the tables (it has no %s): install a later server, or leave store.servers empty for the embedded engine", strings.Join(version, ""), newest)
}

// Whole is nil unless a restore into the database was cut off.
func Whole(ctx context.Context, db DB) error {
	all, err := allTables(ctx, db)
	if slices.Contains(all, markTable) {
		return ErrHalfRestored
	}
	return err
}

// BeginRestore marks the database until EndRestore.
func BeginRestore(ctx context.Context, db DB) error {
	if err := db.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+markTable+" (began DateTime) ENGINE = MergeTree ORDER BY began"); err != nil {
		return fmt.Errorf("begin to restore ClickHouse: %w", err)
	}
	return nil
}

// EndRestore takes the mark off.
func EndRestore(ctx context.Context, db DB) error {
	if err := db.Exec(ctx, "DROP TABLE IF EXISTS "+markTable); err != nil {
		return fmt.Errorf("end the restore of ClickHouse: %w", err)
	}
	return nil
}

// Clear drops every table but the mark.
func Clear(ctx context.Context, db DB) error {
	tables, err := Tables(ctx, db)
	if err != nil {
		return err
	}
	for _, table := range tables {
		if err := db.Exec(ctx, "DROP TABLE "+table); err != nil {
			return fmt.Errorf("drop table %s: %w", table, err)
		}
	}
	return nil
}

// Count is how many rows a table has, or a query in parentheses, with args for its placeholders.
func Count(ctx context.Context, db DB, table string, args ...any) (n uint64, err error) {
	rows, err := db.Query(ctx, "SELECT count() FROM "+table, args...)
	if err != nil {
		return 0, fmt.Errorf("count the rows of %s: %w", table, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&n); err != nil {
			return 0, err
		}
	}
	return n, rows.Err()
}

// Export writes a table's rows, as they are when it begins: blocks of the format Native, each after its length.
// A block is of one partition.
func Export(ctx context.Context, db DB, table string, w io.Writer) (rows uint64, err error) {
	columns, err := columnsOf(ctx, db, table)
	if err != nil {
		return 0, err
	}
	partitions, err := texts(ctx, db, "SELECT DISTINCT _partition_id FROM "+table+" ORDER BY _partition_id")
	if err != nil {
		return 0, err
	}
	for _, p := range partitions {
		n, err := exportPartition(ctx, db, table, columns, p, w)
		if rows += n; err != nil {
			return rows, fmt.Errorf("read table %s: %w", table, err)
		}
	}
	return rows, nil
}

func exportPartition(ctx context.Context, db DB, table string, columns []Column, partition string, w io.Writer) (total uint64, err error) {
	found, err := db.Query(ctx, "SELECT "+columnList(Batch{Columns: columns})+" FROM "+table+" WHERE _partition_id = ?", partition)
	if err != nil {
		return 0, err
	}
	defer found.Close()
	b, err := newBlock(table, columns)
	if err != nil {
		return 0, err
	}
	for found.Next() {
		if err := found.Scan(b.dest...); err != nil {
			return total, err
		}
		if b.add(); b.rows == transferRows {
			if err := b.write(w); err != nil {
				return total, err
			}
		}
		total++
	}
	if err := found.Err(); err != nil || b.rows == 0 {
		return total, err
	}
	return total, b.write(w)
}

// Import inserts what Export wrote. Columns that the table has since then get their defaults.
func Import(ctx context.Context, db DB, table string, r io.Reader) (rows uint64, err error) {
	for {
		b, err := readBlock(table, r)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err == nil {
			err = db.Insert(ctx, b.batch())
		}
		if err != nil {
			return rows, fmt.Errorf("fill table %s: %w", table, err)
		}
		rows += uint64(b.rows)
	}
}

// columnsOf are the columns that can be inserted: of the others the server knows how to compute them.
func columnsOf(ctx context.Context, db DB, table string) (out []Column, err error) {
	rows, err := db.Query(ctx, `SELECT name, type FROM system.columns
		WHERE database = currentDatabase() AND table = ? AND default_kind NOT IN ('MATERIALIZED', 'ALIAS') ORDER BY position`, table)
	if err != nil {
		return nil, fmt.Errorf("read the columns of %s: %w", table, err)
	}
	defer rows.Close()
	for rows.Next() {
		var c Column
		if err := rows.Scan(&c.Name, &c.Type); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, rows.Err()
}

func texts(ctx context.Context, db DB, sql string) (out []string, err error) {
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, rows.Err()
}

// block is rows on their way between a table and a file.
type block struct {
	table   string
	columns []Column
	values  []values
	dest    []any
	rows    int
}

// values are those of one column: a place to scan one into, and a slice of all.
type values interface {
	dest() any
	add()
	all() any
	reset()
}

type typed[T any] struct {
	one  T
	many []T
}

func (v *typed[T]) dest() any { return &v.one }
func (v *typed[T]) add()      { v.many = append(v.many, v.one) }
func (v *typed[T]) all() any  { return v.many }
func (v *typed[T]) reset()    { v.many = nil }

// goTypes have a row for each type of column that Insert takes.
var goTypes = map[string]func() values{
	"UInt8": of[uint8], "UInt16": of[uint16], "UInt32": of[uint32], "UInt64": of[uint64],
	"Int8": of[int8], "Int16": of[int16], "Int32": of[int32], "Int64": of[int64], "Float32": of[float32], "Float64": of[float64],
	"String": of[string], "UUID": of[uuid.UUID], "IPv4": of[netip.Addr], "IPv6": of[netip.Addr], "DateTime": of[time.Time], "DateTime64": of[time.Time],
}

func of[T any]() values { return &typed[T]{} }

func newBlock(table string, columns []Column) (*block, error) {
	b := &block{table: table, columns: columns}
	for _, c := range columns {
		plain := strings.TrimSuffix(strings.TrimPrefix(c.Type, "LowCardinality("), ")")
		if strings.HasPrefix(c.Type, "DateTime") {
			plain, _, _ = strings.Cut(c.Type, "(")
		}
		fresh, known := goTypes[plain]
		if !known {
			return nil, fmt.Errorf("column %s of %s has type %s, which backups do not support", c.Name, table, c.Type)
		}
		v := fresh()
		b.values, b.dest = append(b.values, v), append(b.dest, v.dest())
	}
	return b, nil
}

func (b *block) add() {
	for _, v := range b.values {
		v.add()
	}
	b.rows++
}

func (b *block) batch() Batch {
	out := Batch{Table: b.table, Columns: slices.Clone(b.columns)}
	for i, v := range b.values {
		out.Columns[i].Values = v.all()
	}
	return out
}

func (b *block) write(w io.Writer) error {
	raw, err := encode(b.batch())
	if err != nil {
		return err
	}
	if _, err := w.Write(append(binary.AppendUvarint(nil, uint64(len(raw))), raw...)); err != nil {
		return err
	}
	for _, v := range b.values {
		v.reset()
	}
	b.rows = 0
	return nil
}

// byteReader reads a length.
type byteReader struct{ io.Reader }

func (r byteReader) ReadByte() (byte, error) {
	var one [1]byte
	_, err := io.ReadFull(r, one[:])
	return one[0], err
}

func readBlock(table string, r io.Reader) (*block, error) {
	size, err := binary.ReadUvarint(byteReader{r})
	if err != nil {
		return nil, err
	}
	if size > maxBlock {
		return nil, fmt.Errorf("a block of %d bytes", size)
	}
	raw := make([]byte, size)
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, fmt.Errorf("the file ends within a block: %v", err) //nolint:errorlint // an end here is no end of the file
	}
	in := proto.NewBlock()
	if err := in.Decode(chproto.NewReader(bytes.NewReader(raw)), revision); err != nil {
		return nil, fmt.Errorf("decode rows: %v", err) //nolint:errorlint // as above
	}
	var columns []Column
	for i, c := range in.Columns {
		columns = append(columns, Column{Name: in.ColumnsNames()[i], Type: string(c.Type())})
	}
	b, err := newBlock(table, columns)
	if err != nil {
		return nil, err
	}
	for row := range in.Rows() {
		for i, c := range in.Columns {
			if err := c.ScanRow(b.dest[i], row); err != nil {
				return nil, err
			}
		}
		b.add()
	}
	return b, nil
}
