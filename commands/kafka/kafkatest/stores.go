package kafkatest

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"
)

// TrustPKCS12 is a trust store of type PKCS12 with the authority.
func (c *Certs) TrustPKCS12(password string) ([]byte, error) {
	return pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{c.CA}, password)
}

// KeyPKCS12 is a key store of type PKCS12 with a key and its chain.
func (c *Certs) KeyPKCS12(p Pair, password string) ([]byte, error) {
	return pkcs12.Modern.Encode(p.Key, p.Certificate, []*x509.Certificate{c.CA}, password)
}

// TrustJKS is a trust store of type JKS with the authority.
func (c *Certs) TrustJKS(password string) ([]byte, error) {
	ks := keystore.New()
	entry := keystore.TrustedCertificateEntry{CreationTime: time.Now(), Certificate: jksCert(c.CA)}
	if err := ks.SetTrustedCertificateEntry("authority", entry); err != nil {
		return nil, fmt.Errorf("make JKS: %w", err)
	}
	return storeJKS(ks, password)
}

// KeyJKS is a key store of type JKS with a key and its chain. The key has a password of its
// own, which may be that of the store.
func (c *Certs) KeyJKS(p Pair, password, keyPassword string) ([]byte, error) {
	key, err := x509.MarshalPKCS8PrivateKey(p.Key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	ks := keystore.New()
	err = ks.SetPrivateKeyEntry("client", keystore.PrivateKeyEntry{
		CreationTime: time.Now(), PrivateKey: key,
		CertificateChain: []keystore.Certificate{jksCert(p.Certificate), jksCert(c.CA)},
	}, []byte(keyPassword))
	if err != nil {
		return nil, fmt.Errorf("make JKS: %w", err)
	}
	return storeJKS(ks, password)
}

func jksCert(cert *x509.Certificate) keystore.Certificate {
	return keystore.Certificate{Type: "X509", Content: cert.Raw}
}

func storeJKS(ks keystore.KeyStore, password string) ([]byte, error) {
	var b bytes.Buffer
	if err := ks.Store(&b, []byte(password)); err != nil {
		return nil, fmt.Errorf("write JKS: %w", err)
	}
	return b.Bytes(), nil
}
