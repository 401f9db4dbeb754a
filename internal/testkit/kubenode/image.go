package kubenode

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Images of the node itself. No registry is asked.
const (
	pause   = "millrace.local/pause:1"
	coredns = "millrace.local/coredns:1"
)

// images gives the node its own images: one static program each.
func (n *Node) images(t *testing.T) {
	t.Helper()
	for tag, program := range map[string]string{pause: "pause", coredns: "coredns"} {
		file := filepath.Join(n.Folder, program+".tar")
		must(t, writeImage(file, tag, n.program(program)))
		n.Import(t, file)
	}
}

// writeImage writes an archive of an image that has one program and nothing else.
func writeImage(file, tag, program string) error {
	raw, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	path := "/" + filepath.Base(program)
	if err := w.WriteHeader(&tar.Header{Name: path[1:], Mode: 0o755, Size: int64(len(raw))}); err != nil {
		return err
	}
	if _, err := w.Write(raw); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil })
	if err != nil {
		return err
	}
	image, err := mutate.AppendLayers(empty.Image, l)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Config = "linux", runtime.GOARCH, v1.Config{Entrypoint: []string{path}}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	as, err := name.NewTag(tag)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(file, as, image)
}
