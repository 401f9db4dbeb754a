// Package backup writes what the control plane keeps into a folder, and restores it.
//
// In: etcd (internal/state) and ClickHouse (internal/store), embedded or servers.
// Out: a folder with a file for etcd, one for each table, and a manifest with their checksums and versions; or both
// stores filled from such a folder.
// Next: millrace backup and millrace restore.
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
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/store"
)

// Stores are what is backed up.
type Stores struct {
	State *state.Store
	DB    store.DB
	// Schema is the database's, 0 if it has no tables; Migrate brings an empty one to a version, at most Known.
	Schema  func(context.Context, store.DB) (uint32, error)
	Migrate func(context.Context, store.DB, uint32) error
	Known   uint32
}

// Manifest lists the content of a backup. It is written last: a folder without it is no backup.
type Manifest struct {
	// Format of the folder.
	Format int `json:"format"`
	// Millrace is the version of the program that wrote it.
	Millrace string    `json:"millrace"`
	Written  time.Time `json:"written"`
	Etcd     Etcd      `json:"etcd"`
	// Schema of the tables.
	Schema uint32  `json:"schema"`
	Tables []Table `json:"tables"`
}

// Etcd is the state.
type Etcd struct {
	Revision int64 `json:"revision"`
	Keys     int64 `json:"keys"`
	// Octets of keys and values.
	Octets int64 `json:"octets"`
	// Form in which the records are (state.Forms); 0 of a millrace that did not record one.
	Form uint32 `json:"form,omitempty"`
	File File   `json:"file"`
}

// Table is one of ClickHouse.
type Table struct {
	Name string `json:"name"`
	Rows uint64 `json:"rows"`
	File File   `json:"file"`
}

// File is one of the folder's.
type File struct {
	Name   string `json:"name"`
	Octets int64  `json:"octets"`
	SHA256 string `json:"sha256"`
}

const (
	format       = 1
	manifestName = "manifest.json"
	etcdFile     = "etcd.zst"
	// partial is the end of the folder's name until it is whole.
	partial = ".partial"
	// migrations is the table that Migrate fills.
	migrations = "migrations"
)

// Write makes the folder, which must not be there.
func Write(ctx context.Context, s Stores, folder, version string, now time.Time) (m Manifest, err error) {
	for _, path := range []string{folder, folder + partial} {
		if _, err := os.Lstat(path); err == nil {
			return m, fmt.Errorf("%s is there already; name a folder that is not, or remove what an interrupted backup left", path)
		}
	}
	if err := s.whole(ctx); err != nil {
		return m, err
	}
	if err := os.Mkdir(folder+partial, 0o700); err != nil {
		return m, fmt.Errorf("make the backup's folder: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(folder+partial))
		}
	}()
	m = Manifest{Format: format, Millrace: version, Written: now.UTC()}
	if m.Schema, err = s.Schema(ctx, s.DB); err != nil {
		return m, err
	}
	if err = m.writeEtcd(ctx, s.State, folder+partial); err != nil {
		return m, err
	}
	if err = m.writeTables(ctx, s.DB, folder+partial); err != nil {
		return m, err
	}
	return m, m.finish(folder)
}

// whole refuses a ClickHouse that cannot have the tables, and stores that have a part of a backup only.
func (s Stores) whole(ctx context.Context) error {
	if err := store.Supported(ctx, s.DB); err != nil {
		return err
	}
	return errors.Join(s.State.Whole(ctx), store.Whole(ctx, s.DB))
}

func (m *Manifest) writeEtcd(ctx context.Context, s *state.Store, folder string) (err error) {
	if m.Etcd.Form, err = s.Form(ctx); err != nil {
		return err
	}
	m.Etcd.File, err = create(folder, etcdFile, func(w io.Writer) error {
		m.Etcd.Revision, err = s.Export(ctx, func(e state.Entry) error {
			m.Etcd.Keys++
			m.Etcd.Octets += int64(len(e.Key) + len(e.Value))
			return writeEntry(w, e)
		})
		return err
	})
	return err
}

func (m *Manifest) writeTables(ctx context.Context, db store.DB, folder string) error {
	tables, err := store.Tables(ctx, db)
	if err != nil {
		return err
	}
	for _, name := range tables {
		if name == migrations {
			continue
		}
		t := Table{Name: name}
		t.File, err = create(folder, "table-"+name+".zst", func(w io.Writer) error {
			t.Rows, err = store.Export(ctx, db, name, w)
			return err
		})
		if err != nil {
			return err
		}
		m.Tables = append(m.Tables, t)
	}
	return nil
}

// finish writes the manifest and gives the folder its name.
func (m *Manifest) finish(folder string) error {
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(folder+partial, manifestName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	_, err = f.Write(append(raw, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	if err := syncFolder(folder + partial); err != nil {
		return err
	}
	if err := os.Rename(folder+partial, folder); err != nil {
		return fmt.Errorf("name the backup's folder: %w", err)
	}
	return syncFolder(filepath.Dir(folder))
}

// syncFolder makes names last over a power cut.
func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("write %s to the disk: %w", folder, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("write %s to the disk: %w", folder, err)
	}
	return nil
}

// create writes one compressed file to the disk.
func create(folder, name string, fill func(io.Writer) error) (File, error) {
	f, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return File{}, fmt.Errorf("write the backup: %w", err)
	}
	sum := newSum(f)
	packed, err := zstd.NewWriter(sum)
	if err != nil {
		return File{}, errors.Join(err, f.Close())
	}
	buffered := bufio.NewWriter(packed)
	err = fill(buffered)
	if err = errors.Join(err, buffered.Flush(), packed.Close(), f.Sync(), f.Close()); err != nil {
		return File{}, fmt.Errorf("write %s of the backup: %w", name, err)
	}
	return File{Name: name, Octets: sum.octets, SHA256: sum.text()}, nil
}
