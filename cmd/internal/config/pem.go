package config

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// readPEM reads certificates and at most one private key, in any order; other blocks are
// passed over. Kafka wants keys as PKCS#8; the older forms are read as well.
func readPEM(data []byte, keyPassword string) (contents, error) {
	var c contents
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		data = rest
		switch block.Type {
		case "CERTIFICATE":
			cert, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return contents{}, fmt.Errorf("a certificate in it cannot be read: %w", err)
			}
			c.trusted = append(c.trusted, cert)
		case "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY":
			if c.key != nil {
				return contents{}, errors.New("it holds more than one private key")
			}
			key, err := parseKey(block, keyPassword)
			if err != nil {
				return contents{}, err
			}
			c.key = key
		}
	}
	c.chain = c.trusted
	return c, nil
}

func parseKey(block *pem.Block, password string) (crypto.PrivateKey, error) {
	der := block.Bytes
	if block.Headers["DEK-Info"] != "" {
		return nil, errors.New("its key is encrypted in OpenSSL's own old form; write it anew with openssl pkcs8 -topk8")
	}
	if block.Type == "ENCRYPTED PRIVATE KEY" {
		if password == "" {
			return nil, fmt.Errorf("its key is encrypted: set %s", keyKeyPassword)
		}
		plain, err := decryptPKCS8(der, password)
		if err != nil {
			return nil, err
		}
		der = plain
	}
	var key any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(der)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(der)
	default:
		key, err = x509.ParsePKCS8PrivateKey(der)
	}
	if err != nil {
		if block.Type == "ENCRYPTED PRIVATE KEY" {
			return nil, errKeyPassword // what came out of the decryption is no key
		}
		return nil, errors.New("its key cannot be read")
	}
	return key, nil
}
