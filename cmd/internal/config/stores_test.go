package config_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/cmd/internal/config"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

const (
	storePassword = "store-pass"
	keyPassword   = "key-pass"
)

// material is TLS material in files of every kind.
type material struct {
	*kafkatest.Certs
	dir string
}

func newMaterial(t *testing.T) material {
	t.Helper()
	certs, err := kafkatest.NewCerts()
	require.NoError(t, err)
	m := material{Certs: certs, dir: t.TempDir()}
	save := func(name string, data []byte, err error) {
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(m.dir, name), data, 0o600))
	}
	save("trust.pem", certs.CAPEM(), nil)
	data, err := certs.TrustPKCS12(storePassword)
	save("trust.p12", data, err)
	data, err = certs.TrustJKS(storePassword)
	save("trust.jks", data, err)
	data, err = certs.PEM(certs.Client)
	save("key.pem", data, err)
	data, err = certs.KeyPKCS12(certs.Client, storePassword)
	save("key.p12", data, err)
	data, err = certs.KeyJKS(certs.Client, storePassword, keyPassword)
	save("key.jks", data, err)
	data, err = certs.PEM(kafkatest.Pair{Certificate: certs.Client.Certificate, Key: certs.Server.Key})
	save("mixed.pem", data, err)
	save("none.pem", []byte("# nothing\n"), nil)
	save("keyonly.pem", []byte(strings.SplitAfter(string(mustPEM(t, certs)), "-----END PRIVATE KEY-----\n")[0]), nil)
	return m
}

func mustPEM(t *testing.T, certs *kafkatest.Certs) []byte {
	t.Helper()
	data, err := certs.PEM(certs.Client)
	require.NoError(t, err)
	return data
}

// inline is a PEM as one line of a properties file.
func inline(pem string) string { return strings.ReplaceAll(strings.TrimSpace(pem), "\n", `\n`) }

func connect(t *testing.T, text string) error {
	t.Helper()
	k, _, err := load(t, text)
	if err != nil {
		return err
	}
	opts, err := k.Options()
	require.NoError(t, err)
	cl, err := kgo.NewClient(append(opts, kgo.RetryTimeout(2*time.Second))...)
	require.NoError(t, err)
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return cl.Ping(ctx)
}

func TestTrustStoresOfEveryKindReachATLSBroker(t *testing.T) {
	m := newMaterial(t)
	broker, err := kafkatest.StartFake(kafkatest.FakeConfig{
		Certs: m.Certs, Users: []kafkatest.User{{Mechanism: "SCRAM-SHA-512", Name: "alice", Password: `p"w\d`}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, broker.Close()) })
	base := "bootstrap.servers=" + broker.Addrs()[0] + "\nsecurity.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n" +
		"sasl.jaas.config=" + scram + ` required \` + "\n  " + `username="alice" password="p\\"w\\\\d";` + "\n"

	for name, store := range map[string]string{
		"PEM":                        "ssl.truststore.type=PEM\nssl.truststore.location=" + m.dir + "/trust.pem\n",
		"PEM in the file":            "ssl.truststore.type=PEM\nssl.truststore.certificates=" + inline(string(m.CAPEM())) + "\n",
		"PKCS12":                     "ssl.truststore.type=PKCS12\nssl.truststore.password=store-pass\nssl.truststore.location=" + m.dir + "/trust.p12\n",
		"PKCS12 by the default type": "ssl.truststore.password=store-pass\nssl.truststore.location=" + m.dir + "/trust.p12\n",
		"JKS":                        "ssl.truststore.password=store-pass\nssl.truststore.location=" + m.dir + "/trust.jks\n",
		"JKS without a password":     "ssl.truststore.location=" + m.dir + "/trust.jks\n",
	} {
		t.Run(name, func(t *testing.T) { require.NoError(t, connect(t, base+store)) })
	}
	t.Run("an authority that is not trusted", func(t *testing.T) {
		other := newMaterial(t)
		require.ErrorContains(t, connect(t, base+"ssl.truststore.type=PEM\nssl.truststore.location="+other.dir+"/trust.pem\n"), "certificate")
	})
}

func TestTheHostNameIsCheckedUnlessToldNotTo(t *testing.T) {
	certs, err := kafkatest.NewCerts("kafka.example")
	require.NoError(t, err)
	broker, err := kafkatest.StartFake(kafkatest.FakeConfig{Certs: certs})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, broker.Close()) })
	base := "bootstrap.servers=" + broker.Addrs()[0] + "\nsecurity.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.certificates="
	trusted := base + inline(string(certs.CAPEM())) + "\n"

	require.ErrorContains(t, connect(t, trusted), "127.0.0.1")
	require.NoError(t, connect(t, trusted+"ssl.endpoint.identification.algorithm=\n"))
	// The chain is checked all the same.
	other := newMaterial(t)
	require.ErrorContains(t, connect(t, base+inline(string(other.CAPEM()))+"\nssl.endpoint.identification.algorithm=\n"), "certificate")
}

func TestFaultsOfStoresAreOneClearLine(t *testing.T) {
	m := newMaterial(t)
	for name, c := range map[string]struct{ text, want string }{
		"missing file": {"ssl.truststore.location=/no/such.jks", "c:2: ssl.truststore.location: file /no/such.jks does not exist"},
		"wrong password of a JKS": {"ssl.truststore.location=DIR/trust.jks\nssl.truststore.password=wrong-pass",
			"c:2: ssl.truststore.location: the password of the store is wrong, or the file is damaged"},
		"wrong password of a PKCS12": {"ssl.truststore.type=PKCS12\nssl.truststore.location=DIR/trust.p12\nssl.truststore.password=wrong-pass",
			"c:3: ssl.truststore.location: the password of the store is wrong, or the file is damaged"},
		"no password of a PKCS12": {"ssl.truststore.type=PKCS12\nssl.truststore.location=DIR/trust.p12",
			"c:3: ssl.truststore.location: the password of the store is wrong, or the file is damaged"},
		"no certificate": {"ssl.truststore.type=PEM\nssl.truststore.location=DIR/none.pem",
			"c:3: ssl.truststore.location: there is no certificate in it"},
		"PEM without its type": {"ssl.truststore.location=DIR/trust.pem",
			"c:2: ssl.truststore.location: the file is PEM: say so with type=PEM"},
		"neither kind": {"ssl.truststore.location=DIR/none.pem", "c:2: ssl.truststore.location: the file is neither JKS nor PKCS12"},
		"unknown type": {"ssl.truststore.type=BKS\nssl.truststore.location=DIR/none.pem",
			"c:3: ssl.truststore.location: ssl.truststore.type=BKS is not among JKS, PKCS12 and PEM"},
		"certificates in the file without their type": {"ssl.truststore.certificates=x",
			"c:2: ssl.truststore.certificates: it wants ssl.truststore.type=PEM"},
		"a key without its chain": {"ssl.keystore.type=PEM\nssl.keystore.location=DIR/keyonly.pem",
			"c:3: ssl.keystore.location: there is a key in it but no certificate"},
		"a key in the file without its chain": {"ssl.keystore.type=PEM\nssl.keystore.key=x",
			"c:3: ssl.keystore.key: there is a key but no ssl.keystore.certificate.chain"},
		"a chain in the file without its key": {"ssl.keystore.type=PEM\nssl.keystore.certificate.chain=x",
			"c:3: ssl.keystore.certificate.chain: there is a certificate chain but no ssl.keystore.key"},
		"a key store without a key": {"ssl.keystore.type=PEM\nssl.keystore.location=DIR/trust.pem",
			"c:3: ssl.keystore.location: there is no private key in it that its password opens"},
		"a key of another certificate": {"ssl.keystore.type=PEM\nssl.keystore.location=DIR/mixed.pem",
			"c:3: ssl.keystore.location: its key is not that of its first certificate"},
		"wrong password of a key": {"ssl.keystore.location=DIR/key.jks\nssl.keystore.password=store-pass\nssl.key.password=wrong-pass",
			"c:2: ssl.keystore.location: the password of the key is wrong, or the file is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, "c", "security.protocol=SSL\n"+strings.ReplaceAll(c.text, "DIR", m.dir)+"\n")
			_, _, err := config.Load(config.Flags{CommandConfig: file, LookupEnv: env(nil)})
			require.EqualError(t, err, filepath.Dir(file)+"/"+c.want)
			require.NotContains(t, err.Error(), "-pass")
		})
	}
}

// Passwords from the environment open stores that the file names without them.
func TestPasswordsFromTheEnvironment(t *testing.T) {
	m := newMaterial(t)
	file := write(t, "c", "security.protocol=SSL\nssl.truststore.location="+m.dir+"/trust.p12\nssl.keystore.location="+m.dir+"/key.jks\n")
	_, _, err := config.Load(config.Flags{CommandConfig: file, LookupEnv: env(map[string]string{
		"OFFSETLEDGER_SSL_TRUSTSTORE_PASSWORD": storePassword,
		"OFFSETLEDGER_SSL_KEYSTORE_PASSWORD":   storePassword,
		"OFFSETLEDGER_SSL_KEY_PASSWORD":        keyPassword,
	})})
	require.NoError(t, err)
}

// Stores as Java's and OpenSSL's own tools write them.
func TestStoresOfOtherTools(t *testing.T) {
	m := newMaterial(t)
	run := func(t *testing.T, name string, args ...string) {
		t.Helper()
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	accept := func(t *testing.T, text string) {
		t.Helper()
		_, _, err := load(t, "security.protocol=SSL\n"+text)
		require.NoError(t, err)
	}
	for _, kind := range []string{"JKS", "PKCS12"} {
		t.Run("keytool "+kind, func(t *testing.T) {
			trust, keys := filepath.Join(t.TempDir(), "trust"), filepath.Join(t.TempDir(), "keys")
			run(t, "keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", m.dir+"/trust.pem",
				"-keystore", trust, "-storetype", kind, "-storepass", storePassword)
			run(t, "keytool", "-genkeypair", "-alias", "me", "-keyalg", "EC", "-dname", "CN=me",
				"-keystore", keys, "-storetype", kind, "-storepass", storePassword, "-keypass", storePassword)
			accept(t, fmt.Sprintf("ssl.truststore.location=%s\nssl.truststore.password=%s\nssl.keystore.location=%s\nssl.keystore.password=%s\n",
				trust, storePassword, keys, storePassword))
		})
	}
	t.Run("openssl pkcs12", func(t *testing.T) {
		keys := filepath.Join(t.TempDir(), "keys")
		run(t, "openssl", "pkcs12", "-export", "-in", m.dir+"/key.pem", "-out", keys, "-passout", "pass:"+storePassword)
		accept(t, fmt.Sprintf("ssl.keystore.type=PKCS12\nssl.keystore.location=%s\nssl.keystore.password=%s\n", keys, storePassword))
	})
	for _, algorithm := range []string{"aes-128-cbc", "aes-256-cbc", "des3"} {
		t.Run("openssl pkcs8 "+algorithm, func(t *testing.T) {
			key := filepath.Join(t.TempDir(), "key")
			run(t, "openssl", "pkcs8", "-topk8", "-v2", algorithm, "-in", m.dir+"/key.pem", "-out", key, "-passout", "pass:"+keyPassword)
			sealed, err := os.ReadFile(key)
			require.NoError(t, err)
			_, chain, _ := strings.Cut(string(mustPEM(t, m.Certs)), "-----END PRIVATE KEY-----\n")
			text := "ssl.keystore.type=PEM\nssl.keystore.key=" + inline(string(sealed)) + "\nssl.keystore.certificate.chain=" + inline(chain) + "\n"
			accept(t, text+"ssl.key.password="+keyPassword+"\n")
			_, _, err = load(t, "security.protocol=SSL\n"+text+"ssl.key.password=wrong-pass\n")
			require.ErrorContains(t, err, "the password of the key is wrong")
			_, _, err = load(t, "security.protocol=SSL\n"+text)
			require.ErrorContains(t, err, "its key is encrypted: set ssl.key.password")
		})
	}
}
