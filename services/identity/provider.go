package identity

import (
	"context"
	"errors"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/services/identity/oidc"
)

var errNoProvider = connect.NewError(connect.CodeFailedPrecondition, errors.New("there is no OpenID provider here: identity.oidc.issuer is not set"))

const (
	byProvider, byDevice = "provider", "device"
	// maxDevices is how many logins of commands begin at once; one more begins each second.
	maxDevices = 20
	// maxPolls is how often all commands together ask in a second: a hundred that ask every five.
	maxPolls = 20
)

// asks is for calls that need the provider.
func (a *api) asks() error {
	switch {
	case !a.On():
		return errOff
	case a.provider == nil:
		return errNoProvider
	}
	return nil
}

// BeginProviderLogin writes nothing down: the browser has it all, sealed.
func (a *api) BeginProviderLogin(ctx context.Context, _ *connect.Request[identityv1.BeginProviderLoginRequest]) (*connect.Response[identityv1.BeginProviderLoginResponse], error) {
	if err := a.asks(); err != nil {
		return nil, err
	}
	to, sealed, err := a.provider.Begin(ctx)
	if err != nil {
		return nil, a.refusedBy(byProvider, "", err)
	}
	return connect.NewResponse(&identityv1.BeginProviderLoginResponse{Url: to, Login: sealed}), nil
}

// EndProviderLogin begins a session by the answer of the provider.
func (a *api) EndProviderLogin(ctx context.Context, r *connect.Request[identityv1.EndProviderLoginRequest]) (*connect.Response[identityv1.EndProviderLoginResponse], error) {
	if err := a.asks(); err != nil {
		return nil, err
	}
	m := r.Msg
	answer := oidc.Answer{
		Sealed: m.GetLogin(), Code: m.GetCode(), State: m.GetState(), Issuer: m.GetIss(), Error: m.GetError(), Description: m.GetErrorDescription(),
	}
	user, cookie, err := a.enterBy(ctx, byProvider, r.Peer(), r.Header(), func() (oidc.Person, error) {
		login, err := a.provider.Open(answer)
		if err != nil {
			return oidc.Person{}, err
		}
		if err := a.once(ctx, login); err != nil {
			return oidc.Person{}, err
		}
		return a.provider.End(ctx, login, answer)
	})
	if err != nil {
		return nil, err
	}
	out := connect.NewResponse(&identityv1.EndProviderLoginResponse{Name: user.GetName(), Role: user.GetRole()})
	out.Header().Add("Set-Cookie", cookie.String())
	return out, nil
}

// once lets a login be ended once, whatever answer it is ended with.
func (a *api) once(ctx context.Context, login oidc.Ended) error {
	_, err := a.deps.State.Put(ctx, flowKey(login.ID), 0, &identityv1.FlowRecord{ExpiresAt: timestamppb.New(login.Until)})
	switch {
	case errors.Is(err, state.ErrConflict):
		return oidc.ErrFlow
	case err != nil:
		return away(err)
	}
	return nil
}

// enterBy begins a session of whom the provider vouches for. What fails because somebody does not answer is no failed
// attempt.
func (a *api) enterBy(ctx context.Context, method string, peer connect.Peer, header http.Header, ask func() (oidc.Person, error)) (*identityv1.UserRecord, *http.Cookie, error) {
	address := host(peer.Addr)
	d, try := a.attempts.beginByProvider(address, a.deps.Now())
	if d > 0 {
		a.metrics.logins.WithLabelValues(method, "delayed").Inc()
		return nil, nil, delayed(d)
	}
	who, err := ask()
	user := (*identityv1.UserRecord)(nil)
	if err == nil {
		user, err = a.enter(ctx, who)
	}
	if err != nil {
		err = a.refusedBy(method, address, err)
		if connect.CodeOf(err) != connect.CodeUnauthenticated {
			a.attempts.withdraw(try)
		}
		return nil, nil, rpc.Naming(err, who.Name)
	}
	a.attempts.success(try)
	cookie, err := a.begin(ctx, user, peer, header, who.Session)
	if err != nil {
		return nil, nil, err
	}
	a.metrics.logins.WithLabelValues(method, "done").Inc()
	a.deps.Log.Info("login", "name", user.GetName(), "from", address, "method", method)
	return user, cookie, nil
}

// refusedBy is the error for a caller. What the provider or its token says is the caller's own, and no secret.
func (a *api) refusedBy(method, address string, err error) error {
	var known *connect.Error
	var down *oidc.AwayError
	code, result := connect.CodeUnauthenticated, "refused"
	switch {
	case errors.As(err, &known):
		code, result = known.Code(), "refused"
		if code == connect.CodeUnavailable {
			result = "failed"
		}
	case errors.As(err, &down):
		code, result = connect.CodeUnavailable, "failed"
	case errors.Is(err, oidc.ErrPending):
		return connect.NewError(connect.CodeAborted, oidc.ErrPending)
	case errors.Is(err, oidc.ErrTooOften):
		return connect.NewError(connect.CodeResourceExhausted, oidc.ErrTooOften)
	}
	a.metrics.logins.WithLabelValues(method, result).Inc()
	a.deps.Log.Warn("login refused", "method", method, "from", address, "error", err)
	if known != nil {
		return known
	}
	return connect.NewError(code, err)
}

// BeginDeviceLogin is for commands on hosts without a browser.
func (a *api) BeginDeviceLogin(ctx context.Context, _ *connect.Request[identityv1.BeginDeviceLoginRequest]) (*connect.Response[identityv1.BeginDeviceLoginResponse], error) {
	if err := a.asks(); err != nil {
		return nil, err
	}
	if !a.devices.AllowN(a.deps.Now(), 1) {
		return nil, connect.NewError(connect.CodeResourceExhausted, errors.New("too many logins begin at once; try again in a few seconds"))
	}
	d, err := a.provider.BeginDevice(ctx)
	if err != nil {
		return nil, a.refusedBy(byDevice, "", err)
	}
	return connect.NewResponse(&identityv1.BeginDeviceLoginResponse{
		Login: d.Handle, UserCode: d.Code, Url: d.URL, CompleteUrl: d.WholeURL, Interval: int32(d.Interval / time.Second), ExpiresAt: timestamppb.New(d.Until),
	}), nil
}

// EndDeviceLogin asks the provider once.
func (a *api) EndDeviceLogin(ctx context.Context, r *connect.Request[identityv1.EndDeviceLoginRequest]) (*connect.Response[identityv1.EndDeviceLoginResponse], error) {
	if err := a.asks(); err != nil {
		return nil, err
	}
	user, cookie, err := a.enterBy(ctx, byDevice, r.Peer(), r.Header(), func() (oidc.Person, error) {
		id, err := a.provider.DeviceOf(r.Msg.GetLogin())
		if err != nil {
			return oidc.Person{}, err
		}
		if now := a.deps.Now(); !a.polls.take(id, now) || !a.allPolls.AllowN(now, 1) {
			return oidc.Person{}, oidc.ErrTooOften
		}
		return a.provider.Poll(ctx, r.Msg.GetLogin())
	})
	if err != nil {
		return nil, err
	}
	out := connect.NewResponse(&identityv1.EndDeviceLoginResponse{Name: user.GetName(), Role: user.GetRole()})
	out.Header().Add("Set-Cookie", cookie.String())
	return out, nil
}
