package config

import (
	"bytes"
	"crypto/sha1"
	"crypto/subtle"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
)

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
	if !wholeJKS(body) {
		return contents{}, errors.New("the JKS file is damaged")
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

// wholeJKS says whether every length in a JKS body lies inside it. The library takes them on
// trust, so a damaged file would have it allocate what it names.
func wholeJKS(body []byte) bool {
	w := jksWalk{rest: body}
	w.skip(len(jksMagic))
	version := w.number(4)
	for entries := w.number(4); entries > 0 && !w.bad; entries-- {
		tag := w.number(4)
		w.skip(w.number(2)) // alias
		w.skip(8)           // time
		certs := 1
		if tag == 1 {
			w.skip(w.number(4)) // key
			certs = w.number(4)
		}
		for ; certs > 0 && !w.bad; certs-- {
			if version == 2 {
				w.skip(w.number(2)) // type
			}
			w.skip(w.number(4))
		}
	}
	return !w.bad && len(w.rest) == 0
}

// jksWalk passes over the parts of a JKS body; bad once one lies outside.
type jksWalk struct {
	rest []byte
	bad  bool
}

func (w *jksWalk) skip(n int) {
	if n < 0 || n > len(w.rest) {
		w.bad = true
		return
	}
	w.rest = w.rest[n:]
}

func (w *jksWalk) number(size int) int {
	at := w.rest
	if w.skip(size); w.bad {
		return 0
	}
	if size == 2 {
		return int(binary.BigEndian.Uint16(at))
	}
	return int(binary.BigEndian.Uint32(at))
}
