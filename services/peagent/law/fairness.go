package law

import "github.com/millrace/millrace/internal/vpnshare"

// Fairness is the weighted fairness index F of paper 001, equation 1.
func Fairness(throughput, weight []float64) float64 { return vpnshare.Fairness(throughput, weight) }

// Jain is the fairness index without weights.
func Jain(throughput []float64) float64 { return vpnshare.Jain(throughput) }
