package kafkatest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Certs is the TLS material of one test: an authority, a server certificate of it for
// 127.0.0.1 and localhost, and a client certificate. All keys are ECDSA P-256, valid for a day.
type Certs struct {
	CA     *x509.Certificate
	Server Pair
	Client Pair
}

// Pair is a certificate with its key.
type Pair struct {
	Certificate *x509.Certificate
	Key         *ecdsa.PrivateKey
}

// NewCerts makes new TLS material.
func NewCerts() (*Certs, error) {
	ca, err := issue("kafkatest authority", nil, x509.ExtKeyUsageAny)
	if err != nil {
		return nil, err
	}
	server, err := issue("kafkatest broker", &ca, x509.ExtKeyUsageServerAuth)
	if err != nil {
		return nil, err
	}
	client, err := issue("kafkatest client", &ca, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, err
	}
	return &Certs{CA: ca.Certificate, Server: server, Client: client}, nil
}

// issue makes a certificate signed by the parent, or an authority without one.
func issue(name string, parent *Pair, usage x509.ExtKeyUsage) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("make key of %s: %w", name, err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return Pair{}, fmt.Errorf("make serial of %s: %w", name, err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
	signer := Pair{Certificate: template, Key: key}
	if parent == nil {
		template.IsCA, template.BasicConstraintsValid = true, true
		template.KeyUsage |= x509.KeyUsageCertSign
	} else {
		signer = *parent
		template.ExtKeyUsage = []x509.ExtKeyUsage{usage}
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
		template.DNSNames = []string{"localhost"}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.Certificate, &key.PublicKey, signer.Key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return Pair{}, fmt.Errorf("read %s: %w", name, err)
	}
	return Pair{Certificate: cert, Key: key}, nil
}

// Pool trusts the authority alone.
func (c *Certs) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c.CA)
	return pool
}

// ServerTLS is the configuration of a listener with the server certificate.
func (c *Certs) ServerTLS() *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{{
			Certificate: [][]byte{c.Server.Certificate.Raw, c.CA.Raw},
			PrivateKey:  c.Server.Key,
		}},
		MinVersion: tls.VersionTLS12,
	}
}

// CAPEM is the authority's certificate as PEM: a trust store of type PEM.
func (c *Certs) CAPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.CA.Raw})
}

// PEM is an unencrypted PKCS#8 key, its certificate and the authority's: a key store of type
// PEM as Kafka reads it.
func (c *Certs) PEM(p Pair) ([]byte, error) {
	key, err := x509.MarshalPKCS8PrivateKey(p.Key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	out := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate.Raw})...)
	return append(out, c.CAPEM()...), nil
}
