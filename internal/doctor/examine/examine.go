// Package examine looks at what an installation stands on: the host, files, stores and routers.
//
// In: folders, files and addresses that a configuration names. Out: findings of internal/doctor, which judges; what
// cannot be looked at is a finding as well. Next: millrace doctor.
package examine

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/doctor"
)

// timeout is how long one answer may take.
const timeout = 10 * time.Second

// Host looks at what every program of Millrace stands on: kernel and clock.
func Host() (found []doctor.Finding) {
	var name unix.Utsname
	if err := unix.Uname(&name); err == nil {
		found = append(found, doctor.Kernel(unix.ByteSliceToString(name.Release[:])))
	}
	var clock unix.Timex
	if _, err := unix.Adjtimex(&clock); err == nil {
		unit := time.Microsecond
		if clock.Status&unix.STA_NANO != 0 {
			unit = time.Nanosecond
		}
		found = append(found, doctor.Clock(clock.Status&unix.STA_UNSYNC == 0, time.Duration(clock.Offset)*unit))
	}
	return found
}

// Disk looks at the file system of a folder, which the first start makes.
func Disk(folder string) doctor.Finding {
	var s unix.Statfs_t
	err := unix.Statfs(folder, &s)
	for up := folder; errors.Is(err, unix.ENOENT) && up != filepath.Dir(up); {
		up = filepath.Dir(up)
		err = unix.Statfs(up, &s)
	}
	if err != nil {
		return doctor.Unreadable("disk", folder, err)
	}
	return doctor.Space(folder, s.Bavail*uint64(s.Bsize), s.Blocks*uint64(s.Bsize))
}

// Certificate looks at a certificate of ours and its key, if the configuration names them.
func Certificate(cert, key, ca string) []doctor.Finding {
	if cert == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return []doctor.Finding{doctor.Unreadable("certificates", cert, err)}
	}
	var pool *x509.CertPool
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return []doctor.Finding{doctor.Unreadable("certificates", ca, err)}
		}
		pool = x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
	}
	var between []*x509.Certificate
	for _, der := range pair.Certificate[1:] {
		if ca, err := x509.ParseCertificate(der); err == nil { // what cannot be read vouches for nothing
			between = append(between, ca)
		}
	}
	return []doctor.Finding{doctor.Certificate(cert, pair.Leaf, pool, time.Now(), between...)}
}
