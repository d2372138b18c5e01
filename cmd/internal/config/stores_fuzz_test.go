package config

import (
	"testing"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// No bytes of a store make its reader panic, and a key comes only with its certificates.
func FuzzStores(f *testing.F) {
	certs, err := kafkatest.NewCerts()
	if err != nil {
		f.Fatal(err)
	}
	for _, store := range []func() ([]byte, error){
		func() ([]byte, error) { return certs.PEM(certs.Client) },
		func() ([]byte, error) { return certs.TrustJKS("store-pass") },
		func() ([]byte, error) { return certs.KeyJKS(certs.Client, "store-pass", "store-pass") },
		func() ([]byte, error) { return certs.TrustPKCS12("store-pass") },
		func() ([]byte, error) { return certs.KeyPKCS12(certs.Client, "store-pass") },
	} {
		data, err := store()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, password := range []string{"", "store-pass"} {
			if c, err := readJavaStore(data, password, ""); err == nil && c.key != nil && len(c.chain) == 0 {
				t.Error("a key without a certificate")
			}
		}
		_, _ = readPEM(data, "store-pass")
		_, _ = decryptPKCS8(data, "store-pass")
	})
}
