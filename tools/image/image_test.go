package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// rootfs is a small root, written by a process with this umask.
func rootfs(t *testing.T, private bool) string {
	t.Helper()
	root, file, dir := t.TempDir(), os.FileMode(0o644), os.FileMode(0o755)
	if private {
		file, dir = 0o600, 0o700
	}
	for _, d := range []string{"usr/bin", "usr/lib/millrace", "usr/lib/millrace-agent", "etc/millrace", "var/lib/millrace"} {
		if err := os.MkdirAll(filepath.Join(root, d), dir); err != nil {
			t.Fatal(err)
		}
	}
	for name, m := range map[string]os.FileMode{
		"usr/bin/millrace": dir, "usr/lib/millrace/libchdb.so": dir, "usr/lib/millrace-agent/millrace": dir, "etc/millrace/millrace.yaml": file,
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(name), m); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(root, "tmp"), 0o700), os.Chmod(filepath.Join(root, "tmp"), 0o777|os.ModeSticky), os.Symlink("millrace", filepath.Join(root, "usr/bin/m"))); err != nil {
		t.Fatal(err)
	}
	return root
}

func image(t *testing.T, root string) []byte {
	t.Helper()
	o := options{
		root: root, tag: "millrace:0.1.0", version: "0.1.0", commit: "5bf42c3", platform: "amd64",
		date: time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC), output: filepath.Join(t.TempDir(), "image.tar"),
	}
	if _, err := write(o); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(o.output)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// files are the entries of one layer.
func files(t *testing.T, i v1.Image, layer int) (names []string) {
	t.Helper()
	layers, err := i.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[layer].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
}

func TestTwoBuildsAreTheSame(t *testing.T) {
	if !bytes.Equal(image(t, rootfs(t, false)), image(t, rootfs(t, true))) {
		t.Error("two images of the same files differ")
	}
}

func TestWhatIsInTheImage(t *testing.T) {
	raw := image(t, rootfs(t, true))
	i, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	type entry struct {
		Mode int64
		Uid  int
	}
	got := map[string]entry{}
	for r := tar.NewReader(mutate.Extract(i)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got[h.Name] = entry{h.Mode, h.Uid}
	}
	want := map[string]entry{
		"etc": {0o755, 0}, "etc/millrace": {0o755, 0}, "etc/millrace/millrace.yaml": {0o644, 0}, "tmp": {0o1777, 0},
		"usr": {0o755, 0}, "usr/bin": {0o755, 0}, "usr/bin/m": {0o755, 0}, "usr/bin/millrace": {0o755, 0},
		"usr/lib": {0o755, 0}, "usr/lib/millrace": {0o755, 0}, "usr/lib/millrace/libchdb.so": {0o755, 0},
		"usr/lib/millrace-agent": {0o755, 0}, "usr/lib/millrace-agent/millrace": {0o755, 0},
		"var": {0o755, 0}, "var/lib": {0o755, 0}, "var/lib/millrace": {0o755, user},
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	c, err := i.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if last := files(t, i, 1); !slices.Equal(last, []string{"etc/millrace/", "etc/millrace/millrace.yaml", "usr/bin/millrace", "usr/lib/millrace-agent/", "usr/lib/millrace-agent/millrace"}) {
		t.Errorf("the layer of what each commit changes has %q", last)
	}
	if c.Config.User != "65532:65532" || c.Config.Labels["org.opencontainers.image.version"] != "0.1.0" || len(c.RootFS.DiffIDs) != 2 {
		t.Errorf("config: %+v", c)
	}
}
