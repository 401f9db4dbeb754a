package examine

import (
	"context"
	"crypto/tls"
	"sync"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/doctor"
	"github.com/millrace/millrace/internal/gnmiclient"
)

// together is how many routers are asked at a time.
const together = 16

// Inventory asks every router over gNMI.
func Inventory(ctx context.Context, file string) []doctor.Finding {
	inventory, err := device.Load(file)
	if err != nil {
		return []doctor.Finding{doctor.Unreadable("routers", file, err)}
	}
	if len(inventory.Devices) == 0 {
		return []doctor.Finding{{Area: "routers", Subject: file, Level: doctor.Warning, What: "the inventory has no router", Do: "List the routers under `devices`."}}
	}
	found := Certificate(inventory.TLS.Cert, inventory.TLS.Key, "")
	credentials, err := inventory.ClientTLS()
	if err != nil {
		return append(found, doctor.Unreadable("routers", file, err))
	}
	answers, free, wg := make([]doctor.Finding, len(inventory.Devices)), make(chan struct{}, together), sync.WaitGroup{}
	for i, d := range inventory.Devices {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			answers[i] = router(ctx, d, credentials)
		})
	}
	wg.Wait()
	return append(found, answers...)
}

func router(ctx context.Context, d device.Device, credentials *tls.Config) doctor.Finding {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c, err := gnmiclient.Dial(ctx, d, credentials)
	if err == nil {
		err = c.Close()
	}
	return doctor.Answered("routers", d.Name, err, "Look whether its agent runs, whether the address is right, and whether each end's CA signed the other's certificate.", "MillraceRouterUnreachable")
}
