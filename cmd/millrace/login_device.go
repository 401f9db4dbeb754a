package main

import (
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

const (
	// leastInterval and moreInterval are those of RFC 8628, sections 3.2 and 3.5.
	leastInterval = 5 * time.Second
	moreInterval  = 5 * time.Second
)

// byDevice logs in by the OpenID provider: it prints where to confirm which code, and asks until somebody did.
func byDevice(cmd *cobra.Command, s *session) error {
	begun, err := s.BeginDeviceLogin(cmd.Context(), connect.NewRequest(&identityv1.BeginDeviceLoginRequest{}))
	if connect.CodeOf(err) == connect.CodeFailedPrecondition {
		return coded{errors.New("this control plane has no OpenID provider: give --name or --link"), exitUsage}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "Open %s in a browser, and confirm the code %s until %s.\n", begun.Msg.GetUrl(), begun.Msg.GetUserCode(),
		begun.Msg.GetExpiresAt().AsTime().Local().Format(time.TimeOnly))
	if whole := begun.Msg.GetCompleteUrl(); whole != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "Or open %s\n", whole)
	}
	interval := time.Duration(begun.Msg.GetInterval()) * time.Second
	if interval <= 0 {
		interval = leastInterval
	}
	for {
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-time.After(interval):
		}
		r, err := s.EndDeviceLogin(cmd.Context(), connect.NewRequest(&identityv1.EndDeviceLoginRequest{Login: begun.Msg.GetLogin()}))
		switch connect.CodeOf(err) {
		case connect.CodeAborted, connect.CodeUnavailable: // not yet, or somebody is away: until the code expires
			if !time.Now().Before(begun.Msg.GetExpiresAt().AsTime()) {
				return errors.Join(errors.New("nobody confirmed the code"), err)
			}
			continue
		case connect.CodeResourceExhausted:
			interval += moreInterval
			continue
		}
		if err != nil {
			return err
		}
		s.cookie, s.name, s.role = cookieOf(r.Header()), r.Msg.GetName(), r.Msg.GetRole()
		return nil
	}
}
