package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// ownData refuses root where another user's service keeps data: it could not read what root writes there.
func (c *config) ownData() error {
	info, err := os.Stat(c.DataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // who makes it owns it
	}
	if err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	owner := info.Sys().(*syscall.Stat_t).Uid
	if os.Geteuid() != 0 || owner == 0 {
		return nil
	}
	name := strconv.FormatUint(uint64(owner), 10)
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	return coded{fmt.Errorf("data_dir %s is %s's, who could not read what root writes there: runuser -u %s -- %s", c.DataDir, name, name, strings.Join(os.Args, " ")), exitUsage}
}
