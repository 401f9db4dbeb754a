package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
	"github.com/millrace/millrace/services/identity/oidc"
)

// LogoutPath is where the provider sends its logout tokens.
const LogoutPath = "/oidc/backchannel-logout"

// LogoutCall is the call that a request to LogoutPath makes.
func LogoutCall(*http.Request) rights.Call {
	return rights.Of(identityv1connect.IdentityServiceBackChannelLogoutProcedure)
}

// REST is what the provider calls: a form with one field (OpenID Connect Back-Channel Logout 1.0, section 2.5).
func (c *Component) REST() (string, http.Handler) {
	return LogoutPath, http.HandlerFunc((&api{c}).sentLogout)
}

func (a *api) sentLogout(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	if err := r.ParseForm(); err != nil {
		answerLogout(w, connect.NewError(connect.CodeInvalidArgument, err))
		return
	}
	in := &identityv1.BackChannelLogoutRequest{LogoutToken: r.PostForm.Get("logout_token")}
	answerLogout(w, rpc.Made(r.Context(), identityv1connect.IdentityServiceBackChannelLogoutProcedure, in, nil, w.Header(), func() (proto.Message, error) {
		return a.loggedOutBy(r.Context(), in.GetLogoutToken(), host(r.RemoteAddr))
	}))
}

// answerLogout answers as section 2.8 says.
func answerLogout(w http.ResponseWriter, err error) {
	statuses := map[connect.Code]int{connect.CodeUnavailable: http.StatusServiceUnavailable, connect.CodeResourceExhausted: http.StatusTooManyRequests}
	status, known := statuses[connect.CodeOf(err)]
	switch {
	case err == nil:
		return
	case !known:
		status = http.StatusBadRequest
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": "invalid_request", "error_description": err.Error()}) // the provider may have left
}

// BackChannelLogout implements IdentityService.
func (a *api) BackChannelLogout(ctx context.Context, r *connect.Request[identityv1.BackChannelLogoutRequest]) (*connect.Response[identityv1.BackChannelLogoutResponse], error) {
	out, err := a.loggedOutBy(ctx, r.Msg.GetLogoutToken(), host(r.Peer().Addr))
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(out), nil
}

var errReplayed = connect.NewError(connect.CodeInvalidArgument, errors.New("the logout token was taken before"))

// loggedOutBy ends what a logout token names. Tokens that are no good count for their address as failed logins do:
// each may make this server ask the provider for its keys.
func (a *api) loggedOutBy(ctx context.Context, token, address string) (*identityv1.BackChannelLogoutResponse, error) {
	if err := a.asks(); err != nil {
		return nil, err
	}
	d, try := a.attempts.beginByProvider(address, a.deps.Now())
	if d > 0 {
		return nil, delayed(d)
	}
	said, err := a.provider.Logout(ctx, token)
	var down *oidc.AwayError
	if errors.As(err, &down) {
		a.attempts.withdraw(try)
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	if err != nil {
		a.deps.Log.Warn("logout token refused", "from", address, "error", err)
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	a.attempts.success(try)
	out, err := a.endNamed(ctx, said)
	if err == nil {
		a.deps.Log.Info("sessions ended by the OpenID provider", "name", out.GetName(), "sessions", out.GetEnded())
	}
	return out, err
}

// endNamed ends the sessions, and then takes the token for used: what fails in between can be sent again.
func (a *api) endNamed(ctx context.Context, said oidc.Logout) (*identityv1.BackChannelLogoutResponse, error) {
	sum := sha256.Sum256([]byte(strconv.Quote(a.cfg.OIDC.Issuer) + strconv.Quote(said.ID)))
	key := flowKey("logout-" + hex.EncodeToString(sum[:]))
	switch _, err := a.deps.State.Get(ctx, key, &identityv1.FlowRecord{}); {
	case err == nil:
		return nil, errReplayed
	case !errors.Is(err, state.ErrNotFound):
		return nil, away(err)
	}
	index := &identityv1.SubjectRecord{}
	if said.Subject != "" {
		if _, err := a.deps.State.Get(ctx, subjectKey(a.cfg.OIDC.Issuer, said.Subject), index); err != nil && !errors.Is(err, state.ErrNotFound) {
			return nil, away(err)
		}
	}
	name := index.GetUser()
	ended, err := deleteCounting(ctx, a.deps.State, sessionsPrefix, func(s *identityv1.SessionRecord) bool {
		meant := ends(said, index.GetUser(), s)
		if meant {
			name = s.GetUser()
		}
		return meant
	})
	if err != nil {
		return nil, away(err)
	}
	_, err = a.deps.State.Put(ctx, key, 0, &identityv1.FlowRecord{ExpiresAt: timestamppb.New(said.Until)})
	if err != nil && !errors.Is(err, state.ErrConflict) {
		return nil, away(err)
	}
	return &identityv1.BackChannelLogoutResponse{Name: name, Ended: int32(ended)}, nil
}

// ends reports whether a logout ends a session. user is who its subject is here; empty: nobody. A session of that
// person of which nobody knows the provider's session ends, too: it may be the one.
func ends(said oidc.Logout, user string, s *identityv1.SessionRecord) bool {
	if said.Subject == "" {
		return said.Session != "" && s.GetProviderSession() == said.Session
	}
	return user != "" && s.GetUser() == user && (said.Session == "" || s.GetProviderSession() == "" || s.GetProviderSession() == said.Session)
}
