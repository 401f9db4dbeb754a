package main

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// layers divide the files: what changes with each commit comes last, so that an upgrade transfers a quarter of the
// image.
var layers = []func(name string) bool{
	func(name string) bool { return !changes(name) },
	changes,
}

func changes(name string) bool {
	return name == "usr/bin/millrace" || strings.HasPrefix(name, "usr/lib/millrace-agent") || name == "etc/millrace" || strings.HasPrefix(name, "etc/millrace/")
}

// writeLayer writes the files of a folder that belong to a layer, as a compressed archive. Folders are in the layer of
// their files.
func writeLayer(file, root string, date time.Time, belongs func(name string) bool) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	// WalkDir goes in lexical order.
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil || !belongs(name) {
			return err
		}
		return add(w, path, name, date, d)
	})
	return errors.Join(err, w.Close(), z.Close())
}

// add writes one entry. Nothing of the host is in it but type, content, and whether it can be executed.
func add(w *tar.Writer, path, name string, date time.Time, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	link := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(path); err != nil {
			return err
		}
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name, h.Format, h.ModTime = name, tar.FormatPAX, date.UTC().Truncate(time.Second)
	h.AccessTime, h.ChangeTime = time.Time{}, time.Time{}
	h.Uid, h.Gid, h.Uname, h.Gname, h.PAXRecords = 0, 0, "", "", nil
	h.Mode = mode(info.Mode())
	if d.IsDir() {
		h.Name += "/"
	}
	if name == "var/lib/millrace" {
		h.Uid, h.Gid = user, user
	}
	if err := w.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}

// mode does not depend on the umask of the host.
func mode(m fs.FileMode) int64 {
	switch {
	case m&fs.ModeSticky != 0:
		return 0o1777
	case m.IsDir() || m&0o100 != 0 || m&fs.ModeSymlink != 0:
		return 0o755
	default:
		return 0o644
	}
}
