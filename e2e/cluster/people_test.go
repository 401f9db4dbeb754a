package cluster

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/millrace/millrace/internal/testkit/program"
)

const password = "correct horse battery\n"

// people asks one dashboard, and the other one after a question that failed, as a person does who has two addresses.
type people struct {
	w      *world
	token  string
	client *http.Client
	asked  atomic.Int32
}

// Do implements connect.HTTPClient.
func (p *people) Do(r *http.Request) (*http.Response, error) {
	asked := p.asked.Load()
	answer, err := p.ask(r, p.w.hosts[asked%2])
	if err != nil {
		p.asked.CompareAndSwap(asked, asked+1)
	}
	return answer, err
}

// ask asks the dashboard of a host.
func (p *people) ask(r *http.Request, of *host) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host, r.Host = listens(p.w.url(of, "dashboard")), ""
	r.Header.Set("Authorization", "Bearer "+p.token)
	return p.client.Do(r)
}

var loginLink = regexp.MustCompile(`https://\S+/#login=\S+`)

// logIn takes the link of the first start, sets a password, logs in as the command line does, and keeps its token.
func (w *world) logIn(t *testing.T) *people {
	t.Helper()
	var link string
	program.Until(t, "identity prints a login link", func() (bool, any) {
		for _, h := range w.hosts[:2] {
			log, err := os.ReadFile(w.running[h.name+"-identity"].Log)
			if err != nil {
				return false, err
			}
			if link = loginLink.FindString(string(log)); link != "" {
				return true, nil
			}
		}
		return false, nil
	})
	w.command(t, password, "users", "password", "--link", link)
	w.command(t, password, "login", "--name", "admin")
	raw, err := os.ReadFile(filepath.Join(w.dir, "home", "millrace", "tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	tokens := map[string]string{}
	if err := json.Unmarshal(raw, &tokens); err != nil || len(tokens) == 0 {
		t.Fatalf("the tokens of the command line: %v", err)
	}
	p := &people{w: w, client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: w.trust(t), MinVersion: tls.VersionTLS12}}}}
	for _, p.token = range tokens { // one login, for each server
	}
	return p
}

// command is millrace on the operators' host, with lines on standard input.
func (w *world) command(t *testing.T, input string, arguments ...string) string {
	t.Helper()
	cmd := exec.Command(program.Path, arguments...)
	servers := w.url(w.hosts[0], "dashboard") + "," + w.url(w.hosts[1], "dashboard")
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(w.dir, "home"), "MILLRACE_SERVER="+servers, "SSL_CERT_FILE="+w.caFile(), "MILLRACE_TOKEN=")
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("millrace %s: %v: %s", strings.Join(arguments, " "), err, out)
	}
	return string(out)
}
