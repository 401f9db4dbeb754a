package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Runs asks the server at a base URL whether it runs.
func Runs(ctx context.Context, by http.RoundTripper, server string) error {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("base URL %q: %w", server, err)
	}
	answer, err := by.RoundTrip(ask)
	if err != nil {
		return fmt.Errorf("%s: %w", server, err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", server, answer.Status)
	}
	return nil
}

// watchedBody tells when an answer breaks off.
type watchedBody struct {
	io.ReadCloser
	broke func()
}

// Read implements io.Reader.
func (b *watchedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		b.broke()
	}
	return n, err
}
