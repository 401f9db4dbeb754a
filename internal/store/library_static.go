//go:build static

package store

import "errors"

// openLibrary is of a build without a dynamic loader, such as those of the packages for routers.
func openLibrary(string) (*library, error) {
	return nil, errors.New("this program is linked statically and cannot load the ClickHouse engine: name a ClickHouse server in flowstore.store.servers, " +
		"or take the package millrace for amd64")
}
