package store

import (
	"fmt"
	"os"
	"strings"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
	"golang.org/x/sys/unix"
)

// native is the format in which rows enter and leave the engine: the same
// blocks that the server's protocol carries, hence one codec for both.
const native = "Native"

// revision 0 is the block layout of files, without the protocol's additions.
const revision = 0

func encode(b Batch) ([]byte, error) {
	block := proto.NewBlock()
	for i, c := range b.Columns {
		if err := block.AddColumn(c.Name, column.Type(c.Type)); err != nil {
			return nil, fmt.Errorf("column %s of %s: %w", c.Name, b.Table, err)
		}
		if _, err := block.Columns[i].Append(c.Values); err != nil {
			return nil, fmt.Errorf("column %s of %s: %w", c.Name, b.Table, err)
		}
	}
	buffer := &chproto.Buffer{}
	if err := block.Encode(buffer, revision); err != nil {
		return nil, fmt.Errorf("encode rows for %s: %w", b.Table, err)
	}
	return buffer.Buf, nil
}

func columnList(b Batch) string {
	names := make([]string, len(b.Columns))
	for i, c := range b.Columns {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

// memoryFile holds content until it is closed; the engine reads it as /proc/self/fd/N.
func memoryFile(content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("millrace-insert", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "millrace-insert")
	if _, err := f.Write(content); err != nil {
		f.Close()
		return nil, fmt.Errorf("write a file in memory: %w", err)
	}
	return f, nil
}
