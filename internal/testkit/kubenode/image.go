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
	pause         = "millrace.local/pause:1"
	coredns       = "millrace.local/coredns:1"
	metricsServer = "millrace.local/metrics-server:1"
)

// images gives the node its own images: one static program each.
func (n *Node) images(t *testing.T) {
	t.Helper()
	for tag, program := range map[string]string{pause: "pause", coredns: "coredns"} {
		n.image(t, tag, program)
	}
}

// image gives the node an image of one of its programs.
func (n *Node) image(t *testing.T, tag, program string) {
	t.Helper()
	file := filepath.Join(n.Folder, program+".tar")
	layer, err := layerOf(n.Program(program))
	must(t, err)
	must(t, writeImage(file, tag, layer, "/"+program))
	n.Import(t, file)
}

// ImportRoot gives the node an image of a root file system, from an archive of it.
func (n *Node) ImportRoot(t *testing.T, tag, archive string) {
	t.Helper()
	layer, err := tarball.LayerFromFile(archive)
	must(t, err)
	file := filepath.Join(n.Folder, "root.tar")
	must(t, writeImage(file, tag, layer))
	n.Import(t, file)
}

// layerOf is a layer that has one program and nothing else.
func layerOf(program string) (v1.Layer, error) {
	raw, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	if err := w.WriteHeader(&tar.Header{Name: filepath.Base(program), Mode: 0o755, Size: int64(len(raw))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(raw); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil })
}

// writeImage writes an archive of an image that has one layer.
func writeImage(file, tag string, layer v1.Layer, entrypoint ...string) error {
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Config = "linux", runtime.GOARCH, v1.Config{Entrypoint: entrypoint}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	as, err := name.NewTag(tag)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(file, as, image)
}
