package controlplane

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"connectrpc.com/connect"

	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
	rightsv1 "github.com/millrace/millrace/proto/gen/millrace/rights/v1"
)

// identity is the section of the configuration file. A lab that is kept is looked at for longer than a link lasts by
// default.
func (o Options) identity() string {
	if o.Logins {
		return "identity: {link: 12h}\n"
	}
	return "identity: {mode: off} # one experiment, on a network of its own\n"
}

// operator is the person that an experiment acts as: one who may approve, and gives nobody a role.
const operator = "scenario"

// Login is a session of a person.
type Login struct {
	client *http.Client
	api    identityv1connect.IdentityServiceClient
	url    string
}

// Link is where a browser, or `millrace login --link`, logs in as the same person, once.
func (l *Login) Link(ctx context.Context) (string, error) {
	made, err := l.api.CreateLink(ctx, connect.NewRequest(&identityv1.CreateLinkRequest{}))
	if err != nil {
		return "", fmt.Errorf("make a login link: %w", err)
	}
	return l.url + "/#login=" + made.Msg.GetCode(), nil
}

// logIn takes the link of the first login, and adds the person that the experiment acts as.
func (p *Plane) logIn(ctx context.Context, printed string) error {
	code, err := p.firstLink(ctx, printed)
	if err != nil {
		return err
	}
	anonymous := identityv1connect.NewIdentityServiceClient(http.DefaultClient, p.URL)
	redeemed, err := anonymous.Redeem(ctx, connect.NewRequest(&identityv1.RedeemRequest{Code: code}))
	if err != nil {
		return err
	}
	p.Admin = p.session(redeemed.Header())
	password := rand.Text()
	_, put := p.Admin.api.PutUser(ctx, connect.NewRequest(&identityv1.PutUserRequest{Name: operator, Role: rightsv1.Role_ROLE_APPROVER}))
	_, set := p.Admin.api.SetPassword(ctx, connect.NewRequest(&identityv1.SetPasswordRequest{Name: operator, New: password}))
	if err := errors.Join(put, set); err != nil {
		return err
	}
	in, err := anonymous.Login(ctx, connect.NewRequest(&identityv1.LoginRequest{Name: operator, Password: password}))
	if err != nil {
		return err
	}
	p.Operator = p.session(in.Header())
	return nil
}

var link = regexp.MustCompile(`#login=(mrl_\w+)\n`)

// firstLink waits for what the first start prints, and deletes the file that it is in.
func (p *Plane) firstLink(ctx context.Context, printed string) (code string, err error) {
	err = p.Until(ctx, time.Minute, "the first login link is printed", func(context.Context) (bool, error) {
		text, err := os.ReadFile(printed)
		if found := link.FindSubmatch(text); found != nil {
			code = string(found[1])
		}
		return code != "", err
	})
	return code, errors.Join(err, os.Remove(printed))
}

// session is who shows the cookie of an answer.
func (p *Plane) session(answer http.Header) *Login {
	cookie, _, _ := strings.Cut(answer.Get("Set-Cookie"), ";")
	client := &http.Client{Transport: showing{cookie}}
	return &Login{client, identityv1connect.NewIdentityServiceClient(client, p.URL), p.URL}
}

// showing shows a cookie with each request.
type showing struct{ cookie string }

// RoundTrip implements http.RoundTripper.
func (s showing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Cookie", s.cookie)
	return http.DefaultTransport.RoundTrip(r)
}
