package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

type options struct {
	root, tag, version, commit, platform, output string
	date                                         time.Time
}

// user runs the program; it owns the volume and nothing else.
const user = 65532

// write makes the image and returns its digest.
func write(o options) (string, error) {
	tag, err := name.NewTag(o.tag)
	if err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp(filepath.Dir(o.output), ".layers-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	image := empty.Image
	for i, of := range layers {
		file := filepath.Join(scratch, fmt.Sprint(i))
		if err := writeLayer(file, o.root, o.date, of); err != nil {
			return "", err
		}
		l, err := tarball.LayerFromFile(file)
		if err != nil {
			return "", err
		}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: l, History: v1.History{Created: v1.Time{Time: o.date}, CreatedBy: "tools/image"}}); err != nil {
			return "", err
		}
	}
	if image, err = mutate.ConfigFile(image, o.configured(image)); err != nil {
		return "", err
	}
	digest, err := image.Digest()
	if err != nil {
		return "", err
	}
	return digest.String(), tarball.WriteToFile(o.output, tag, image)
}

// configured is how the image runs.
func (o options) configured(image v1.Image) *v1.ConfigFile {
	c, err := image.ConfigFile()
	if err != nil {
		return nil
	}
	c = c.DeepCopy()
	c.OS, c.Architecture, c.Created, c.Author = "linux", o.platform, v1.Time{Time: o.date}, "Millrace"
	c.Config = v1.Config{
		User:         fmt.Sprintf("%d:%d", user, user),
		Env:          []string{"PATH=/usr/bin", "HOME=/var/lib/millrace", "MILLRACE_LIBCHDB=/usr/lib/millrace/libchdb.so"},
		Entrypoint:   []string{"/usr/bin/millrace"},
		Cmd:          []string{"up", "--config", "/etc/millrace/millrace.yaml"},
		ExposedPorts: map[string]struct{}{"2055/udp": {}},
		Volumes:      map[string]struct{}{"/var/lib/millrace": {}},
		WorkingDir:   "/var/lib/millrace",
		Labels: map[string]string{
			"org.opencontainers.image.title": "Millrace", "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.version": o.version, "org.opencontainers.image.revision": o.commit,
			"org.opencontainers.image.created": o.date.UTC().Format(time.RFC3339),
		},
	}
	return c
}
