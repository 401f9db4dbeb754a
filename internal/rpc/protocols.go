package rpc

import "net/http"

// Protocols lets browsers, the CLI, gRPC clients and services in other processes share one port, with TLS or without.
func Protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(true) // over TLS
	p.SetUnencryptedHTTP2(true)
	return p
}

// ALPN are the protocols that a port with TLS offers.
var ALPN = []string{"h2", "http/1.1"}
