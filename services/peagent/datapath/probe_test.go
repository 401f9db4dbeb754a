package datapath

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAnErrorOfAFeatureSaysWhatToDo: it names feature and remedy, and callers still find the cause.
func TestAnErrorOfAFeatureSaysWhatToDo(t *testing.T) {
	for _, f := range []feature{featurePrograms, EDT.feature(), HTB.feature()} {
		err := f.unsupported(unix.ENOENT)
		if !errors.Is(err, unix.ENOENT) || !strings.Contains(err.Error(), f.name) || !strings.Contains(err.Error(), f.remedy) {
			t.Errorf("%v", err)
		}
		if !strings.Contains(f.remedy, "CONFIG_") || f.unsupported(nil) != nil {
			t.Errorf("%s: %q, %v without an error", f.name, f.remedy, f.unsupported(nil))
		}
	}
	if EDT.feature() == HTB.feature() {
		t.Error("two modes need the same scheduler")
	}
}

func TestTheBestModeIsChosen(t *testing.T) {
	missing := errors.New("missing")
	for _, c := range []struct {
		features Features
		want     Mode
	}{{Features{}, EDT}, {Features{Fq: missing}, HTB}, {Features{Fq: missing, HTB: missing}, Police}, {Features{HTB: missing}, EDT}} {
		if got := c.features.Mode(); got != c.want {
			t.Errorf("fq: %v, HTB: %v: mode %v, want %v", c.features.Fq, c.features.HTB, got, c.want)
		}
	}
}
