package main

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/ca"
)

func caRevokeCommand() *cobra.Command {
	var life time.Duration
	cmd := &cobra.Command{
		Use:   "revoke FOLDER CERTIFICATE...",
		Short: "Put certificates on the CA's list of revoked ones",
		Long: `A certificate is named by its file or by its serial number, in decimals as logs have it. The list is
crl.pem in the folder of the CA: copy it to where services (tls.crl), router agents (tls.crl) and PE
agents (control.crl) read theirs, or let "millrace ca issue" do so. They read it by themselves, refuse
the certificates on it, and end the connections that were opened with them. Nothing leaves the list.`,
		Example: `  millrace ca revoke /etc/millrace/ca /etc/millrace/tls/push/tls.crt
  millrace ca revoke /etc/millrace/ca 104729163584612347892374610293847561023`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			revoked, err := revokedOf(args[1:])
			if err != nil {
				return coded{err, exitUsage}
			}
			return signList(cmd, args[0], revoked, life)
		},
	}
	lifeFlag(cmd, &life, ca.ListLife, "within how long the list is to be replaced")
	return cmd
}

func caListCommand() *cobra.Command {
	var life time.Duration
	cmd := &cobra.Command{
		Use:     "crl FOLDER",
		Short:   "Sign the list of revoked certificates anew, with nothing added",
		Long:    `A list says until when it is to be replaced. "millrace ca issue" renews it, too.`,
		Example: "  millrace ca crl /etc/millrace/ca",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return signList(cmd, args[0], ca.Revoked{}, life) },
	}
	lifeFlag(cmd, &life, ca.ListLife, "within how long the list is to be replaced")
	return cmd
}

func signList(cmd *cobra.Command, folder string, revoked ca.Revoked, life time.Duration) error {
	a, err := ca.Open(folder)
	if err != nil {
		return err
	}
	now := time.Now()
	total, err := a.Revoke(revoked, life, now)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s has %d revoked certificates, and is to be replaced by %s\n", filepath.Join(folder, ca.List), total, now.Add(life).UTC().Format(time.RFC3339))
	return nil
}

// revokedOf reads what names certificates: serial numbers, or files.
func revokedOf(named []string) (out ca.Revoked, err error) {
	for _, name := range named {
		if serial, ok := new(big.Int).SetString(name, 10); ok && serial.Sign() > 0 {
			out.Serials = append(out.Serials, serial)
			continue
		}
		cert, err := certificateOf(name)
		if err != nil {
			return out, err
		}
		out.Certificates = append(out.Certificates, cert)
	}
	return out, nil
}

// certificateOf is the first certificate of a PEM file; those after it are intermediates.
func certificateOf(file string) (*x509.Certificate, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the certificate to revoke: %w", err)
	}
	for b, rest := pem.Decode(raw); b != nil; b, rest = pem.Decode(rest) {
		if b.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read the certificate %s: %w", file, err)
		}
		return cert, nil
	}
	return nil, fmt.Errorf("%s has no PEM certificate", file)
}
