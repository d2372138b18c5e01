package config

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"

	"software.sslmate.com/src/go-pkcs12"
)

// contents are what a store holds: certificates to trust, or a key with its chain, the key's
// own certificate first.
type contents struct {
	trusted []*x509.Certificate
	key     crypto.PrivateKey // nil without one
	chain   []*x509.Certificate
}

var (
	errStorePassword = errors.New("the password of the store is wrong, or the file is damaged")
	errKeyPassword   = errors.New("the password of the key is wrong, or the file is damaged")
)

// jksMagic begins every JKS file.
var jksMagic = []byte{0xfe, 0xed, 0xfe, 0xed}

// readJavaStore reads a store of type JKS or PKCS12, whichever of the two the file really is:
// Java does so too, and its keytool has long written PKCS12 whatever the name. The password is
// empty where none is given; Java then reads a JKS without checking that it is whole.
func readJavaStore(data []byte, password, keyPassword string) (contents, error) {
	switch {
	case bytes.HasPrefix(data, jksMagic):
		return readJKS(data, password, keyPassword)
	case bytes.Contains(data, []byte("-----BEGIN ")):
		return contents{}, errors.New("the file is PEM: say so with type=PEM")
	case bytes.HasPrefix(data, []byte{0x30}):
		return readPKCS12(data, password)
	}
	return contents{}, errors.New("the file is neither JKS nor PKCS12")
}

// readPKCS12 reads a key with its chain where there is one, else certificates.
func readPKCS12(data []byte, password string) (contents, error) {
	key, cert, more, err := pkcs12.DecodeChain(data, password)
	if err == nil {
		chain := append([]*x509.Certificate{cert}, more...)
		return contents{key: key, chain: chain, trusted: chain}, nil
	}
	trusted, trustErr := pkcs12.DecodeTrustStore(data, password)
	if trustErr == nil {
		return contents{trusted: trusted}, nil
	}
	if errors.Is(err, pkcs12.ErrIncorrectPassword) || errors.Is(trustErr, pkcs12.ErrIncorrectPassword) {
		return contents{}, errStorePassword
	}
	return contents{}, fmt.Errorf("not readable as PKCS12: as a trust store %w; as a key store %w", trustErr, err)
}
