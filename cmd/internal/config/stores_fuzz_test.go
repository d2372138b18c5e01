package config

import (
	"bytes"
	"testing"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// No bytes of a store make its reader panic, and a key comes only with its certificates.
// PKCS12 is left to its library: how often a password is hashed is the file's own choice, and
// what a fuzzer writes there takes hours.
func FuzzStores(f *testing.F) {
	certs, err := kafkatest.NewCerts()
	if err != nil {
		f.Fatal(err)
	}
	for _, store := range []func() ([]byte, error){
		func() ([]byte, error) { return certs.PEM(certs.Client) },
		func() ([]byte, error) { return certs.TrustJKS("store-pass") },
		func() ([]byte, error) { return certs.KeyJKS(certs.Client, "store-pass", "store-pass") },
	} {
		data, err := store()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.HasPrefix(data, []byte{0x30}) {
			t.Skip("PKCS12")
		}
		for _, password := range []string{"", "store-pass"} {
			if c, err := readJavaStore(data, password, ""); err == nil && c.key != nil && len(c.chain) == 0 {
				t.Error("a key without a certificate")
			}
		}
		_, _ = readPEM(data, "store-pass")
		_, _ = decryptPKCS8(data, "store-pass")
	})
}
