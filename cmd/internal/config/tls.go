package config

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// tlsConfig is what the ssl.* settings say. Without a trust store the system's authorities are
// trusted, as Java trusts its own.
func (s *settings) tlsConfig() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	err := errors.Join(
		s.setVersions(c),
		s.setCiphers(c),
		s.setTrust(c),
		s.setIdentity(c),
	)
	if err != nil {
		return nil, err
	}
	return c, s.setIdentification(c)
}

var tlsVersions = map[string]uint16{"TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}

func (s *settings) setVersions(c *tls.Config) error {
	if p := s.value(keyTLSProtocol); p != "" && p != "TLS" && tlsVersions[p] == 0 {
		return s.fault(keyTLSProtocol, "want TLS, TLSv1.2 or TLSv1.3, not "+p)
	}
	var versions []uint16
	for _, name := range s.list(keyEnabled) {
		v := tlsVersions[name]
		if v == 0 {
			return s.fault(keyEnabled, name+" is not among TLSv1.2 and TLSv1.3")
		}
		versions = append(versions, v)
	}
	if len(versions) > 0 {
		c.MinVersion, c.MaxVersion = slices.Min(versions), slices.Max(versions)
	}
	return nil
}

func (s *settings) setCiphers(c *tls.Config) error {
	for _, name := range s.list(keyCiphers) {
		i := slices.IndexFunc(tls.CipherSuites(), func(suite *tls.CipherSuite) bool { return suite.Name == name })
		if i < 0 {
			return s.fault(keyCiphers, name+" is unknown or too weak to use")
		}
		c.CipherSuites = append(c.CipherSuites, tls.CipherSuites()[i].ID)
	}
	return nil
}

// setIdentification turns the check of the host name off where the setting is there and empty.
// The chain is still checked.
func (s *settings) setIdentification(c *tls.Config) error {
	switch value := s.value(keyIdentification); {
	case strings.EqualFold(value, "https"), !s.has(keyIdentification):
		return nil
	case value != "":
		return s.fault(keyIdentification, "want https, or nothing to turn the check of the host name off")
	}
	roots := c.RootCAs
	c.InsecureSkipVerify = true
	c.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return errors.New("the broker sent no certificate")
		}
		between := x509.NewCertPool()
		for _, cert := range state.PeerCertificates[1:] {
			between.AddCert(cert)
		}
		_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
		return err
	}
	return nil
}

// setTrust reads the trust store.
func (s *settings) setTrust(c *tls.Config) error {
	location, inline := s.value(keyTrustLocation), s.value(keyTrustCerts)
	var store contents
	var err error
	at := keyTrustLocation
	switch {
	case location == "" && inline == "":
		return nil
	case inline != "":
		at = keyTrustCerts
		if err := s.checkInline(keyTrustCerts, keyTrustLocation, keyTrustType); err != nil {
			return err
		}
		store, err = readPEM([]byte(inline), "")
	default:
		store, err = s.readStore(keyTrustLocation, keyTrustType, s.value(keyTrustPassword), "")
	}
	if err != nil {
		return s.fault(at, err.Error())
	}
	if len(store.trusted) == 0 {
		return s.fault(at, "there is no certificate in it")
	}
	c.RootCAs = x509.NewCertPool()
	for _, cert := range store.trusted {
		c.RootCAs.AddCert(cert)
	}
	return nil
}

// setIdentity reads the key store: the client's own certificate.
func (s *settings) setIdentity(c *tls.Config) error {
	keyPassword := s.value(keyKeyPassword)
	location, key, chain := s.value(keyStoreLocation), s.value(keyStoreKey), s.value(keyStoreChain)
	var store contents
	var err error
	at := keyStoreLocation
	switch {
	case location == "" && key == "" && chain == "":
		return nil
	case key != "" || chain != "":
		at = keyStoreKey
		if key == "" {
			return s.fault(keyStoreChain, "there is a certificate chain but no "+keyStoreKey)
		}
		if chain == "" {
			return s.fault(keyStoreKey, "there is a key but no "+keyStoreChain)
		}
		if err := s.checkInline(keyStoreKey, keyStoreLocation, keyStoreType); err != nil {
			return err
		}
		store, err = readPEM([]byte(key+"\n"+chain), keyPassword)
	default:
		store, err = s.readStore(keyStoreLocation, keyStoreType, s.value(keyStorePassword), keyPassword)
	}
	if err != nil {
		return s.fault(at, err.Error())
	}
	switch {
	case store.key == nil:
		return s.fault(at, "there is no private key in it that its password opens")
	case len(store.chain) == 0:
		return s.fault(at, "there is a key in it but no certificate")
	case !matches(store.key, store.chain[0]):
		return s.fault(at, "its key is not that of its first certificate")
	}
	pair := tls.Certificate{PrivateKey: store.key}
	for _, cert := range store.chain {
		pair.Certificate = append(pair.Certificate, cert.Raw)
	}
	c.Certificates = []tls.Certificate{pair}
	return nil
}

// checkInline says whether PEM may be given in the properties themselves.
func (s *settings) checkInline(key, location, kind string) error {
	if s.has(location) {
		return s.fault(key, "it stands beside "+location+": want one of them")
	}
	if !strings.EqualFold(s.value(kind), "PEM") {
		return s.fault(key, "it wants "+kind+"=PEM")
	}
	return nil
}

// readStore reads the file at a location by its type; Kafka's default is JKS.
func (s *settings) readStore(location, kind, password, keyPassword string) (contents, error) {
	data, err := os.ReadFile(s.value(location))
	if err != nil {
		return contents{}, pathError(err)
	}
	switch name := strings.ToUpper(s.value(kind)); name {
	case "PEM":
		return readPEM(data, keyPassword)
	case "", "JKS", "PKCS12":
		return readJavaStore(data, password, keyPassword)
	default:
		return contents{}, fmt.Errorf("%s=%s is not among JKS, PKCS12 and PEM", kind, s.value(kind))
	}
}

// matches says whether a certificate is of a key.
func matches(key crypto.PrivateKey, cert *x509.Certificate) bool {
	signer, ok := key.(crypto.Signer)
	if !ok {
		return false
	}
	public, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(cert.PublicKey)
}
