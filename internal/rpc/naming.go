package rpc

import "errors"

// naming is an error that names whom a call was about that nobody had logged in for.
type naming struct {
	error
	name string
}

func (n naming) Unwrap() error { return n.error }

// Naming adds the name of whom a refused login was about, for the record of it; the caller gets the error as it is.
func Naming(err error, name string) error {
	if err == nil || name == "" {
		return err
	}
	return naming{err, name}
}

// NameIn is that name; empty: the error has none.
func NameIn(err error) string {
	var n naming
	errors.As(err, &n)
	return n.name
}
