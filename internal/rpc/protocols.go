package rpc

import "net/http"

// Protocols lets browsers, the CLI, gRPC clients and services in other processes share one port without TLS.
func Protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return p
}
