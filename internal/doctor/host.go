package doctor

import (
	"crypto/x509"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// oldest is the release from which on everything was tried; what agents need beyond it they try themselves.
const oldestMajor, oldestMinor = 5, 10

// Kernel is about the release that the kernel names, such as 6.1.0-18-amd64.
func Kernel(release string) Finding {
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return Finding{Area: "kernel", Level: Warning, What: fmt.Sprintf("names itself %q, which is no release of Linux", release), Do: "Millrace was tried on Linux only."}
	}
	if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		return Finding{Area: "kernel", Level: Wrong, What: "is Linux " + release, Do: fmt.Sprintf("Run Linux %d.%d or later.", oldestMajor, oldestMinor)}
	}
	return good("kernel", "", "is Linux "+release)
}

// Features is about what an agent needs of the kernel of its router: each missing feature in a sentence.
func Features(missing []string) []Finding {
	if len(missing) == 0 {
		return []Finding{good("kernel", "features", "all that the router agent can use are there")}
	}
	var all []Finding
	for _, m := range missing {
		all = append(all, Finding{
			Area: "kernel", Subject: "features", Level: Warning, What: m,
			Do: "Load or build the module, or keep to policies that do not need it: a change set that needs it is refused.",
		})
	}
	return all
}

// maxOffset is how far a clock may be off: records of flows and certificates are compared with it.
const maxOffset = time.Second

// Clock is about the host's clock, as the kernel knows it of what disciplines it.
func Clock(synchronised bool, offset time.Duration) Finding {
	switch {
	case !synchronised:
		return Finding{Area: "clock", Level: Warning, What: "nothing keeps it right",
			Do: "Run chrony or systemd-timesyncd: flows, certificates and starts of circuits are judged by this clock."}
	case offset.Abs() > maxOffset:
		return Finding{Area: "clock", Level: Wrong, What: fmt.Sprintf("is off by %s", offset.Round(time.Millisecond)), Do: "Look at the servers of chrony or systemd-timesyncd; step the clock."}
	}
	return good("clock", "", fmt.Sprintf("is kept right, off by %s", offset.Round(time.Microsecond)))
}

// Apart is about the clock of somebody else, by the time that an answer had in it and how long the answer took.
func Apart(area, subject string, theirs, ours time.Time, took time.Duration) Finding {
	// The answer was made somewhere in between, and its time has whole seconds.
	if off := theirs.Sub(ours); off.Abs() > maxOffset+took+time.Second {
		return Finding{Area: area, Subject: subject, Level: Warning, What: fmt.Sprintf("its clock differs from this one by %s", off.Round(time.Second)), Do: "Find out which of the two is wrong, and let NTP keep both."}
	}
	return good(area, subject, "its clock agrees with this one")
}

// Space is about the file system of a folder.
func Space(folder string, free, total uint64) Finding {
	what := fmt.Sprintf("%s of %s are free", size(free), size(total))
	switch {
	case total == 0 || free < total/50:
		return Finding{Area: "disk", Subject: folder, Level: Wrong, What: what, Do: "Make room: etcd and ClickHouse stop writing when it is full. flowstore.retention says how long flows are kept."}
	case free < total/10:
		return Finding{Area: "disk", Subject: folder, Level: Warning, What: what, Do: "Make room, or shorten flowstore.retention."}
	}
	return good("disk", folder, what)
}

func size(n uint64) string {
	const unit = 1 << 30
	if n < unit {
		return strconv.FormatUint(n>>20, 10) + " MiB"
	}
	return strconv.FormatFloat(float64(n)/unit, 'f', 1, 64) + " GiB"
}

// Soon is how long before its end a certificate is a warning: the alert comes a week before.
const Soon = 14 * 24 * time.Hour

// Certificate is about a certificate and whether it was issued by a CA of the pool; nil is any. between are the others
// of its file, which the other end is sent as well: a CA of the pool need not have issued it itself.
func Certificate(file string, c *x509.Certificate, pool *x509.CertPool, now time.Time, between ...*x509.Certificate) Finding {
	bad := func(l Level, what, do string) Finding {
		return Finding{"certificates", file, l, what, do, "MillraceCertificateExpires"}
	}
	name := strings.TrimSpace(c.Subject.CommonName)
	switch {
	case now.Before(c.NotBefore):
		return bad(Wrong, fmt.Sprintf("of %s is valid in %s only", name, age(c.NotBefore.Sub(now))), "Wait, issue another one, or mend this clock.")
	case now.After(c.NotAfter):
		return bad(Wrong, fmt.Sprintf("of %s has expired %s ago", name, age(now.Sub(c.NotAfter))), "Replace the file; it is read again without a restart.")
	}
	if pool != nil {
		sent := x509.NewCertPool()
		for _, ca := range between {
			sent.AddCert(ca)
		}
		if _, err := c.Verify(x509.VerifyOptions{Roots: pool, Intermediates: sent, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			return bad(Wrong, fmt.Sprintf("of %s is not trusted here: %v", name, err), "Issue it by the CA of the file ca, or add its CA there.")
		}
	}
	left := c.NotAfter.Sub(now)
	if left < Soon {
		return bad(Warning, fmt.Sprintf("of %s expires in %s", name, age(left)), "Replace the file; it is read again without a restart.")
	}
	return good("certificates", file, fmt.Sprintf("of %s is valid for %s", name, age(left)))
}

// Unreadable is about a file that should be there.
func Unreadable(area, file string, err error) Finding {
	return Finding{Area: area, Subject: file, Level: Wrong, What: err.Error(), Do: "Put the file there, readable for the user that Millrace runs as."}
}

// Versions compares two builds.
func Versions(subject, mine, theirs string) Finding {
	if mine == theirs {
		return good("versions", subject, "is "+theirs+", as this program")
	}
	return Finding{"versions", subject, Warning, fmt.Sprintf("is %s; this program is %s", theirs, mine), "Upgrade the older one.", "MillraceBuildsDiffer"}
}
