package config

import (
	"bytes"
	"crypto"
	"crypto/sha1"
	"crypto/subtle"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
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

// readJKS reads a JKS. It checks the file's digest itself, to tell a wrong password from a
// damaged entry, and signs the copy that it hands on with no password.
func readJKS(data []byte, password, keyPassword string) (contents, error) {
	if len(data) < len(jksMagic)+sha1.Size {
		return contents{}, errStorePassword
	}
	body, digest := data[:len(data)-sha1.Size], data[len(data)-sha1.Size:]
	if want := jksDigest(body, password); password != "" && subtle.ConstantTimeCompare(digest, want) != 1 {
		return contents{}, errStorePassword
	}
	ks := keystore.New(keystore.WithOrderedAliases())
	if err := ks.Load(bytes.NewReader(append(bytes.Clone(body), jksDigest(body, "")...)), nil); err != nil {
		return contents{}, fmt.Errorf("not readable as JKS: %w", err)
	}
	if keyPassword == "" {
		keyPassword = password
	}
	var c contents
	for _, alias := range ks.Aliases() {
		if err := c.addJKS(ks, alias, keyPassword); err != nil {
			return contents{}, err
		}
	}
	return c, nil
}

func (c *contents) addJKS(ks keystore.KeyStore, alias, keyPassword string) error {
	if ks.IsTrustedCertificateEntry(alias) {
		entry, err := ks.GetTrustedCertificateEntry(alias)
		if err != nil {
			return fmt.Errorf("entry %s: %w", alias, err)
		}
		certs, err := parseChain(entry.Certificate)
		c.trusted = append(c.trusted, certs...)
		return err
	}
	stored, err := ks.GetPrivateKeyEntryCertificateChain(alias)
	if err != nil {
		return fmt.Errorf("entry %s: %w", alias, err)
	}
	chain, err := parseChain(stored...)
	if err != nil {
		return err
	}
	if len(chain) > 0 {
		c.trusted = append(c.trusted, chain[0])
	}
	if c.key != nil || keyPassword == "" {
		return nil // the first key is the one that is used; without a password none can be
	}
	entry, err := ks.GetPrivateKeyEntry(alias, latin1(keyPassword))
	if err != nil {
		return errKeyPassword
	}
	key, err := x509.ParsePKCS8PrivateKey(entry.PrivateKey)
	if err != nil {
		return fmt.Errorf("key %s: %w", alias, err)
	}
	c.key, c.chain = key, chain
	return nil
}

func parseChain(stored ...keystore.Certificate) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for _, s := range stored {
		cert, err := x509.ParseCertificate(s.Content)
		if err != nil {
			return nil, fmt.Errorf("a certificate in it cannot be read: %w", err)
		}
		out = append(out, cert)
	}
	return out, nil
}

// jksDigest is the digest at the end of a JKS file, by which its password is checked.
func jksDigest(body []byte, password string) []byte {
	h := sha1.New()
	for _, b := range latin1(password) {
		h.Write([]byte{0, b})
	}
	h.Write([]byte("Mighty Aphrodite"))
	h.Write(body)
	return h.Sum(nil)
}

// latin1 is a password byte by byte. Characters beyond U+00FF, which a properties file can
// hold only as escapes, match nothing.
func latin1(s string) []byte {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		out = append(out, byte(r))
	}
	return out
}
