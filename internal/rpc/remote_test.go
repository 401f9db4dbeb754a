package rpc

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestASilentServerFailsItsCalls: a process that is suspended takes connections and says nothing.
func TestASilentServerFailsItsCalls(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	r, err := newRemote(Remote{}, waits{time.Second, 10 * time.Millisecond, 10 * time.Millisecond}).Get("http://" + silent.Addr().String())
	if err == nil {
		r.Body.Close()
		t.Error("a server that says nothing has answered")
	}
}

// TestASlowAnswerIsWaitedFor: the server is there, and what was asked takes longer than all times of the client. No
// proxy is asked for it.
func TestASlowAnswerIsWaitedFor(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	release := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { <-release }))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	time.AfterFunc(300*time.Millisecond, func() { close(release) })
	r, err := newRemote(Remote{}, waits{time.Second, 50 * time.Millisecond, 10 * time.Second}).Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.ProtoMajor != 2 {
		t.Errorf("%s, want HTTP/2", r.Proto)
	}
}
