package backup

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/store"
)

// identity is the key of the name by which routers identify an etcd. Routers compare revisions under one
// name (services/push). Those of the restored etcd begin again, so it gets a new name.
const identity = "identity"

// installation is the key of what the processes of an etcd are configured as (cmd/millrace). Those that start on the
// restored one record it anew.
const installation = "installation"

// overhead is what etcd needs for a key beside key and value, about.
const overhead = 512

// ErrNotEmpty means that a restore would replace existing keys or rows.
var ErrNotEmpty = errors.New("the stores are not empty; --force deletes what they have first")

// Read reads a backup's manifest and compares every file with it.
func Read(folder string) (m Manifest, err error) {
	raw, err := os.ReadFile(filepath.Join(folder, manifestName))
	if err != nil {
		return m, fmt.Errorf("%s is no backup, or not a whole one: %w", folder, err)
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fmt.Errorf("read %s of the backup: %w", manifestName, err)
	}
	if m.Format != format {
		return m, fmt.Errorf("the backup has format %d and this millrace (it was written by %s) supports %d", m.Format, m.Millrace, format)
	}
	files := []File{m.Etcd.File}
	for _, t := range m.Tables {
		files = append(files, t.File)
	}
	for _, f := range files {
		if err := f.check(folder); err != nil {
			return m, err
		}
	}
	return m, nil
}

// Restore fills the stores from a folder. Both are tried before one is changed; from then on until its end both are
// marked, so that nothing starts with a part of it.
func Restore(ctx context.Context, s Stores, folder string, force bool) (Manifest, error) {
	m, err := Read(folder)
	if err != nil {
		return m, err
	}
	if m.Schema > s.Known {
		return m, fmt.Errorf("the backup's tables are of schema %d and this millrace supports %d; use a newer millrace, such as %s", m.Schema, s.Known, m.Millrace)
	}
	if m.Etcd.Form > state.Own.Reads {
		return m, fmt.Errorf("the backup's records of etcd are of form %d and this millrace reads forms up to %d; use a newer millrace, such as %s", m.Etcd.Form, state.Own.Reads, m.Millrace)
	}
	if err := s.fit(ctx, m, force); err != nil {
		return m, err
	}
	if err := s.mark(ctx, force); err != nil {
		return m, err
	}
	if err := s.fill(ctx, m, folder, force); err != nil {
		return m, fmt.Errorf("the restore did not come to its end, and the stores have a part of the backup only: run it again with --force: %w", err)
	}
	return m, nil
}

// fit finds out, without changing anything, whether the stores can take the backup.
func (s Stores) fit(ctx context.Context, m Manifest, force bool) error {
	if err := store.Supported(ctx, s.DB); err != nil {
		return err
	}
	keys, err := s.State.Count(ctx)
	if err != nil {
		return err
	}
	rows, err := s.rows(ctx)
	if err != nil {
		return err
	}
	if !force {
		if err := s.whole(ctx); err != nil {
			return err
		}
		if keys > 0 || rows > 0 {
			return fmt.Errorf("etcd has %d keys and ClickHouse %d rows: %w", keys, rows, ErrNotEmpty)
		}
	}
	return s.room(ctx, m, keys)
}

// room finds out whether etcd can take the backup once its keys are deleted. What is no room before etcd has forgotten
// old revisions, such as those of a restore that was cut off, is made room.
func (s Stores) room(ctx context.Context, m Manifest, keys int64) error {
	need := m.Etcd.Octets + overhead*m.Etcd.Keys
	size, enough, err := s.enough(ctx, need)
	if err != nil || enough {
		return err
	}
	if err := s.State.MakeRoom(ctx); err != nil {
		return err
	}
	freed := overhead * keys
	if _, err := s.State.Export(ctx, func(e state.Entry) error { freed += int64(len(e.Key) + len(e.Value)); return nil }); err != nil {
		return err
	}
	if size, enough, err = s.enough(ctx, need-freed); err != nil || enough {
		return err
	}
	return fmt.Errorf("etcd has %d of %d MiB, and the backup's state needs about %d MiB: raise etcd.quota (of a cluster: --quota-backend-bytes of every member)",
		size.File>>20, size.Quota>>20, need>>20+1)
}

// enough reports whether etcd has space for that many more octets.
func (s Stores) enough(ctx context.Context, octets int64) (size state.Size, enough bool, err error) {
	size, err = s.State.Size(ctx)
	return size, err == nil && (size.Quota <= 0 || size.File+octets <= size.Quota), err
}

// rows are of all tables.
func (s Stores) rows(ctx context.Context) (total uint64, err error) {
	tables, err := store.Tables(ctx, s.DB)
	if err != nil {
		return 0, err
	}
	for _, name := range tables {
		if name == migrations {
			continue
		}
		n, err := store.Count(ctx, s.DB, name)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// mark marks both stores or, where one takes no writes, none that was not marked before.
//
// An etcd that is full of keys takes a mark only once they are deleted. ClickHouse has its mark by then.
func (s Stores) mark(ctx context.Context, force bool) error {
	before := store.Whole(ctx, s.DB)
	if err := store.BeginRestore(ctx, s.DB); err != nil {
		return err
	}
	err := s.State.BeginRestore(ctx)
	if force && errors.Is(err, state.ErrFull) {
		if err = s.State.Clear(ctx); err == nil {
			err = s.State.MakeRoom(ctx)
		}
		if err != nil {
			return err
		}
		return s.State.BeginRestore(ctx)
	}
	if err != nil && before == nil {
		err = errors.Join(err, store.EndRestore(context.WithoutCancel(ctx), s.DB))
	}
	return err
}

func (s Stores) fill(ctx context.Context, m Manifest, folder string, force bool) error {
	if err := errors.Join(s.State.Clear(ctx), store.Clear(ctx, s.DB)); err != nil {
		return err
	}
	// What was deleted takes room until it is forgotten, and a small file of etcd's grows by doubling. Only root may
	// have it forgotten; for others there was room enough without (see room), and nothing to go back to is left here.
	if force {
		if err := s.State.MakeRoom(ctx); err != nil && !errors.Is(err, state.ErrForbidden) {
			return err
		}
	}
	if m.Schema > 0 {
		if err := s.Migrate(ctx, s.DB, m.Schema); err != nil {
			return err
		}
	}
	for _, t := range m.Tables {
		if err := s.fillTable(ctx, t, folder); err != nil {
			return err
		}
	}
	if err := m.Etcd.File.read(folder, func(r *bufio.Reader) error { return s.fillState(ctx, m.Etcd.Keys, r) }); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.Join(store.EndRestore(ctx, s.DB), s.State.EndRestore(ctx))
}

func (s Stores) fillTable(ctx context.Context, t Table, folder string) error {
	return t.File.read(folder, func(r *bufio.Reader) error {
		rows, err := store.Import(ctx, s.DB, t.Name, r)
		if err == nil && rows != t.Rows {
			err = fmt.Errorf("%d rows were found, and the manifest has %d", rows, t.Rows)
		}
		return err
	})
}

// someEntries are read before they are written.
const someEntries = 100

func (s Stores) fillState(ctx context.Context, want int64, r *bufio.Reader) error {
	var some []state.Entry
	for n := int64(0); ; n++ {
		e, err := readEntry(r)
		if errors.Is(err, io.EOF) {
			if n != want {
				return fmt.Errorf("%d keys were found, and the manifest has %d", n, want)
			}
			return s.State.Import(ctx, some)
		}
		if err != nil {
			return err
		}
		if e.Key == identity || e.Key == installation {
			continue
		}
		if some = append(some, e); len(some) == someEntries {
			if err := s.State.Import(ctx, some); err != nil {
				return err
			}
			some = some[:0]
		}
	}
}
