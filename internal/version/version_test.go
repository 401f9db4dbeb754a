package version

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersionsOfBuilds(t *testing.T) {
	const commit = "5bf42c3dfbc1bb2a8c1f0e9d8a7b6c5d4e3f2a1b"
	build := func(main string, settings ...string) *debug.BuildInfo {
		b := &debug.BuildInfo{Main: debug.Module{Version: main}}
		for i := 0; i < len(settings); i += 2 {
			b.Settings = append(b.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return b
	}
	for name, tt := range map[string]struct {
		build *debug.BuildInfo
		want  Info
	}{
		"a tagged commit": {build("v0.3.0", "vcs.revision", commit, "vcs.time", "2026-11-23T20:00:00Z", "vcs.modified", "false"),
			Info{Version: "0.3.0", Commit: commit, Date: "2026-11-23T20:00:00Z"}},
		"a commit without a tag": {build("v0.0.0-20261123200000-5bf42c3dfbc1", "vcs.revision", commit, "vcs.modified", "false"),
			Info{Version: "0.3.0-dev+5bf42c3dfbc1", Commit: commit}},
		"a tag of another version than the file": {build("v0.2.9", "vcs.revision", commit),
			Info{Version: "0.3.0-dev+5bf42c3dfbc1", Commit: commit}},
		"a tagged commit with changes": {build("v0.3.0+dirty", "vcs.revision", commit, "vcs.modified", "true"),
			Info{Version: "0.3.0-dev+5bf42c3dfbc1.modified", Commit: commit, Modified: true}},
		"no checkout":   {build("(devel)"), Info{Version: "0.3.0-dev", Commit: unknown}},
		"no build info": {&debug.BuildInfo{}, Info{Version: "0.3.0-dev", Commit: unknown}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.want.Go, tt.want.Platform = "go1.26.8", "linux/amd64"
			got := of(tt.build, "0.3.0", "go1.26.8", "linux/amd64")
			if d := cmp.Diff(got, tt.want); d != "" {
				t.Errorf("(-got +want):\n%s", d)
			}
			if got.Released() != (got.Version == "0.3.0") {
				t.Errorf("%s is released: %v", got.Version, got.Released())
			}
		})
	}
}
