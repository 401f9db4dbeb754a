package logging

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatMeansNothingIsRefused(t *testing.T) {
	for _, c := range []struct{ level, format, says string }{
		{"info", "text", ""}, {"debug", "json", ""}, {"error", "text", ""},
		{"verbose", "text", `log.level: "verbose" is no level`}, {"INFO", "text", "log.level"}, {"info", "xml", `log.format "xml"`},
	} {
		err := Configuration{c.level, c.format}.Validate()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := DefaultConfiguration().Validate(); err != nil {
		t.Error(err)
	}
}

func TestLinesAreOfTheConfiguredLevelAndFormat(t *testing.T) {
	var out strings.Builder
	l := New(Configuration{"warn", "json"}, &out)
	l.Info("not this")
	l.Warn("this", "router", "er")
	if got := out.String(); !strings.Contains(got, `"msg":"this","router":"er"`) || strings.Contains(got, "not this") {
		t.Error(got)
	}
}

// asked is the page's answer; values make it a POST.
func asked(l *Log, values ...string) (status int, text string) {
	r := httptest.NewRequest(http.MethodGet, Path, nil)
	if len(values) > 0 {
		form := url.Values{}
		for i := 0; i < len(values); i += 2 {
			form.Set(values[i], values[i+1])
		}
		r = httptest.NewRequest(http.MethodPost, Path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	l.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

// The clock is synctest's: sleeping takes no time, and nothing else moves it.
func TestALevelIsSetForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(DefaultConfiguration(), io.Discard)
		want := func(when string, debug bool) {
			t.Helper()
			if l.Enabled(t.Context(), slog.LevelDebug) != debug {
				t.Errorf("%s: debug is logged: %v", when, !debug)
			}
		}
		want("before", false)
		if _, text := asked(l); text != "info" {
			t.Error(text)
		}
		if code, text := asked(l, "level", "debug", "for", "5m"); code != http.StatusOK || text != "debug until 2000-01-01T00:05:00Z, then info" {
			t.Error(code, text)
		}
		want("during", true)
		time.Sleep(4 * time.Minute)
		asked(l, "level", "debug") // for ten minutes more
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		want("set again", true)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		want("after", false)
		if _, text := asked(l); text != "info" {
			t.Error(text)
		}
	})
}

func TestARequestThatMeansNothingChangesNothing(t *testing.T) {
	l := New(DefaultConfiguration(), io.Discard)
	for _, values := range [][]string{{"level", "loud"}, {"level", ""}, {"level", "debug", "for", "soon"}, {"level", "debug", "for", "-1m"}, {"level", "debug", "for", "25h"}} {
		if code, text := asked(l, values...); code != http.StatusBadRequest {
			t.Errorf("%v: %d %s", values, code, text)
		}
	}
	if _, text := asked(l); text != "info" {
		t.Error(text)
	}
}
