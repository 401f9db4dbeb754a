// Package version is what this program was built from.
//
// In: the file VERSION, and what the Go toolchain records in a binary: the tag and the commit of the checkout.
// Out: an Info, as text, as JSON and as the labels of a metric.
// Next: millrace version, /version and the metric millrace_build_info of every process, and the names of packages.
package version

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
)

//go:embed VERSION
var next string

// Info is what a binary was built from.
type Info struct {
	// Version is a semantic version: 0.1.0 where the commit has the tag v0.1.0, and else that of the next release with
	// -dev and the commit, such as 0.1.0-dev+5bf42c3dfbc1.
	Version string `json:"version"`
	// Commit is the hash in full, or unknown where it was not built from a checkout.
	Commit string `json:"commit"`
	// Date of the commit, RFC 3339; empty where it is not known.
	Date string `json:"date"`
	// Modified tells that the checkout had changes that no commit has.
	Modified bool `json:"modified"`
	// Go is the version of the toolchain.
	Go string `json:"go"`
	// Platform is operating system and processor, as linux/amd64.
	Platform string `json:"platform"`
}

// Get is this binary's.
func Get() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return of(build, strings.TrimSpace(next), runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
}

// unknown is the commit of a binary that was not built from a checkout.
const unknown = "unknown"

// of reads what the toolchain recorded. It records a tag of this very commit as the module's version, and else a
// version that it makes up, which has the time of the commit in it.
func of(build *debug.BuildInfo, next, toolchain, platform string) Info {
	i := Info{Commit: unknown, Go: toolchain, Platform: platform}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Commit = s.Value
		case "vcs.time":
			i.Date = s.Value
		case "vcs.modified":
			i.Modified = s.Value == "true"
		}
	}
	i.Version = next + "-dev"
	if build.Main.Version == "v"+next && !i.Modified {
		i.Version = next
		return i
	}
	var marks []string
	if i.Commit != unknown {
		marks = append(marks, i.Commit[:min(12, len(i.Commit))])
	}
	if i.Modified {
		marks = append(marks, "modified")
	}
	if len(marks) > 0 {
		i.Version += "+" + strings.Join(marks, ".")
	}
	return i
}

// Released reports whether the binary was built from the tagged commit of its version.
func (i Info) Released() bool { return !strings.Contains(i.Version, "-dev") }

func (i Info) String() string {
	return fmt.Sprintf("millrace %s\ncommit   %s\ndate     %s\ngo       %s\nplatform %s\n",
		i.Version, i.Commit, cmp.Or(i.Date, unknown), i.Go, i.Platform)
}

// Path is where a process answers with its Info.
const Path = "/version"

// Serve answers with this binary's Info as JSON.
func Serve(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Get()) // the client may have disconnected
}
