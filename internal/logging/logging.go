// Package logging makes the log of a process. Its level can be set for a while without a restart, which would end what
// is to be looked at.
//
// In: level and format by the configuration, and requests of an administrator. Out: lines. Next: every component.
package logging

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Path is where the level is read and set.
const Path = "/debug/log-level"

const (
	// shortly is for how long a level is set where a request does not say, longest the most that it may say: a level
	// that was forgotten fills disks.
	shortly = 10 * time.Minute
	longest = 24 * time.Hour
)

// Configuration of a process's log.
type Configuration struct {
	// Level is the least severe that is logged: debug, info, warn or error. Default info.
	Level string `yaml:"level"`
	// Format is text, which is key=value, or json. Default text.
	Format string `yaml:"format"`
}

// DefaultConfiguration is what runs without a file.
func DefaultConfiguration() Configuration { return Configuration{Level: "info", Format: "text"} }

// Validate names the setting that means nothing.
func (c Configuration) Validate() error {
	if _, err := levelOf(c.Level); err != nil {
		return fmt.Errorf("log.level: %w", err)
	}
	if c.Format != "text" && c.Format != "json" {
		return fmt.Errorf("log.format %q: write text or json", c.Format)
	}
	return nil
}

var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

func levelOf(name string) (slog.Level, error) {
	if l, ok := levels[name]; ok {
		return l, nil
	}
	return 0, fmt.Errorf("%q is no level: write debug, info, warn or error", name)
}

// Log is a logger, and the page on which its level is set.
type Log struct {
	*slog.Logger
	configured string
	level      slog.LevelVar

	mu    sync.Mutex
	now   string
	until time.Time
	back  *time.Timer
}

// New makes the log of a valid configuration.
func New(c Configuration, to io.Writer) *Log {
	l := &Log{configured: c.Level, now: c.Level}
	l.level.Set(levels[c.Level])
	options := &slog.HandlerOptions{Level: &l.level}
	if c.Format == "json" {
		l.Logger = slog.New(slog.NewJSONHandler(to, options))
	} else {
		l.Logger = slog.New(slog.NewTextHandler(to, options))
	}
	return l
}

// ServeHTTP tells the level, and sets it on POST: level, and for how long, after which it is the configured one again.
func (l *Log) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		if err := l.set(r.FormValue("level"), r.FormValue("for")); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until.IsZero() {
		fmt.Fprintln(w, l.now)
		return
	}
	fmt.Fprintf(w, "%s until %s, then %s\n", l.now, l.until.UTC().Format(time.RFC3339), l.configured)
}

func (l *Log) set(name, lasting string) error {
	level, err := levelOf(name)
	if err != nil {
		return fmt.Errorf("level: %w", err)
	}
	d := shortly
	if lasting != "" {
		if d, err = time.ParseDuration(lasting); err != nil || d <= 0 || d > longest {
			return fmt.Errorf("for: %q is no time between 0 and %v, such as 10m", lasting, longest)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.back != nil {
		l.back.Stop()
	}
	l.level.Set(level)
	l.now, l.until = name, time.Now().Add(d)
	l.back = time.AfterFunc(d, l.goBack)
	l.Warn("the level of this log is set", "level", name, "until", l.until)
	return nil
}

func (l *Log) goBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.until) {
		return // it was set again meanwhile
	}
	l.level.Set(levels[l.configured])
	l.now, l.until = l.configured, time.Time{}
	l.Warn("the level of this log is the configured one again", "level", l.configured)
}
