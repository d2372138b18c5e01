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

// Certs is the TLS material of one test: an authority, a server certificate of it and a client
// certificate. All keys are ECDSA P-256, valid for a day.
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

// NewCerts makes new TLS material. The server certificate is for the host names given, or for
// localhost and 127.0.0.1 without any.
func NewCerts(hosts ...string) (*Certs, error) {
	ca, err := issue("kafkatest authority", nil, &x509.Certificate{
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	})
	if err != nil {
		return nil, err
	}
	broker := &x509.Certificate{
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: hosts,
	}
	if len(hosts) == 0 {
		broker.DNSNames, broker.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	server, err := issue("kafkatest broker", &ca, broker)
	if err != nil {
		return nil, err
	}
	client, err := issue("kafkatest client", &ca, &x509.Certificate{
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return nil, err
	}
	return &Certs{CA: ca.Certificate, Server: server, Client: client}, nil
}

// issue makes a certificate from a template, signed by the parent, or by itself without one.
func issue(name string, parent *Pair, template *x509.Certificate) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("make key of %s: %w", name, err)
	}
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return Pair{}, fmt.Errorf("make serial of %s: %w", name, err)
	}
	template.Subject = pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	signer := Pair{Certificate: template, Key: key}
	if parent != nil {
		signer = *parent
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
