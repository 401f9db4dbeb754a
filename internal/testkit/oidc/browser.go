package oidc

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// Browser is somebody's at the provider, with the cookies of it.
type Browser struct {
	client *http.Client
	// back is where the provider sends the browser back to; nothing is requested there.
	back string
	// at is the page that is shown.
	at   *url.URL
	page string
}

// NewBrowser has no cookies.
func NewBrowser(t testing.TB, back string) *Browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &Browser{back: back}
	b.client = &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), b.back) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	return b
}

var (
	form   = regexp.MustCompile(`(?s)<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>`)
	hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"\s*/?>`)
)

// Login goes to a URL of the provider, fills its forms in, and returns what it sends the browser back with.
func (b *Browser) Login(t testing.TB, to, person string) url.Values {
	t.Helper()
	answer, err := b.client.Get(to)
	for range 10 {
		if err != nil {
			t.Fatal(err)
		}
		if location := answer.Header.Get("Location"); strings.HasPrefix(location, b.back) {
			answer.Body.Close()
			u, err := url.Parse(location)
			if err != nil {
				t.Fatal(err)
			}
			return u.Query()
		}
		b.read(t, answer)
		answer, err = b.submit(t, person, "")
	}
	t.Fatalf("the provider goes on asking: %s", b.page)
	return nil
}

// Confirm types the code of a device in at a URL of the provider, and logs in where that asks for it.
func (b *Browser) Confirm(t testing.TB, to, code, person string) {
	t.Helper()
	answer, err := b.client.Get(to)
	for range 10 {
		if err != nil {
			t.Fatal(err)
		}
		b.read(t, answer)
		if strings.Contains(b.page, "Sign-in Success") || strings.Contains(b.page, "Device Login Successful") {
			return
		}
		answer, err = b.submit(t, person, code)
	}
	t.Fatalf("the provider goes on asking: %s", b.page)
}

// Logout ends the session at a provider, as somebody who says yes to ending it everywhere.
func (b *Browser) Logout(t testing.TB, issuer string) {
	t.Helper()
	answer, err := b.client.Get(issuer + "/session/end")
	if err != nil {
		t.Fatal(err)
	}
	b.read(t, answer)
	if answer, err = b.submit(t, "", ""); err != nil {
		t.Fatal(err)
	}
	b.read(t, answer)
	if !strings.Contains(b.page, "Sign-out Success") {
		t.Fatalf("the provider did not end the session: %s", b.page)
	}
}

func (b *Browser) read(t testing.TB, answer *http.Response) {
	t.Helper()
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	b.at, b.page = answer.Request.URL, string(raw)
}

// submit sends the page's form.
func (b *Browser) submit(t testing.TB, person, code string) (*http.Response, error) {
	t.Helper()
	found := form.FindStringSubmatch(b.page)
	if found == nil {
		t.Fatalf("no form at %s: %s", b.at, b.page)
	}
	action, err := b.at.Parse(html.UnescapeString(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	values := url.Values{}
	for _, f := range hidden.FindAllStringSubmatch(found[2], -1) {
		values.Set(f[1], html.UnescapeString(f[2]))
	}
	for name, value := range map[string]string{"login": person, "username": person, "password": "any", "user_code": code} {
		if strings.Contains(found[2], `name="`+name+`"`) && !values.Has(name) {
			values.Set(name, value)
		}
	}
	if strings.Contains(b.page, `name="logout"`) { // a button outside the form
		values.Set("logout", "yes")
	}
	return b.client.PostForm(action.String(), values)
}
