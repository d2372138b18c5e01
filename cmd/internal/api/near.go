package api

import "github.com/offsetledger/offsetledger/cmd/internal/near"

// nearest returns the few names that somebody who typed name could have meant, best first.
func nearest(name string, known []string) []string { return near.Names(name, known) }
