package config_test

import (
	"crypto/x509"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// One file for each way that a real broker is reached: TLS with a client certificate, SCRAM
// over TLS, PLAIN without; and what a wrong password, certificate or name comes to.
func TestARealBrokerIsReachedByStockProperties(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a broker of its own")
	}
	m := newMaterial(t)
	broker := kafkatest.Start(t, kafkatest.RealConfig{
		Certs: m.Certs,
		Users: []kafkatest.User{
			{Mechanism: "SCRAM-SHA-512", Name: "alice", Password: "alice-pw"},
			{Mechanism: "SCRAM-SHA-256", Name: "carol", Password: "carol-pw"},
			{Mechanism: "PLAIN", Name: "bob", Password: "bob-pw"},
		},
		Properties: map[string]string{
			"listener.name.ssl.ssl.client.auth": "required",
			"ssl.truststore.type":               "PEM",
			"ssl.truststore.location":           m.dir + "/trust.pem",
		},
	})
	trust := "ssl.truststore.location=" + m.dir + "/trust.jks\nssl.truststore.password=store-pass\n"
	ssl := "bootstrap.servers=" + broker.Addr("SSL") + "\nsecurity.protocol=SSL\n" + trust
	login := func(protocol, mechanism, module, user, password string) string {
		return "bootstrap.servers=" + broker.Addr(protocol) + "\nsecurity.protocol=" + protocol + "\nsasl.mechanism=" + mechanism +
			"\nsasl.jaas.config=" + module + ` required username="` + user + `" password="` + password + `";` + "\n"
	}
	const plain = "org.apache.kafka.common.security.plain.PlainLoginModule"

	require.NoError(t, connect(t, "bootstrap.servers="+broker.Addr("PLAINTEXT")+"\n"))
	for _, store := range []string{
		"ssl.keystore.type=PEM\nssl.keystore.location=" + m.dir + "/key.pem\n",
		"ssl.keystore.type=PKCS12\nssl.keystore.location=" + m.dir + "/key.p12\nssl.keystore.password=store-pass\n",
		"ssl.keystore.location=" + m.dir + "/key.jks\nssl.keystore.password=store-pass\nssl.key.password=key-pass\n",
	} {
		require.NoError(t, connect(t, ssl+store))
	}
	require.NoError(t, connect(t, login("SASL_SSL", "SCRAM-SHA-512", scram, "alice", "alice-pw")+trust))
	require.NoError(t, connect(t, login("SASL_SSL", "SCRAM-SHA-256", scram, "carol", "carol-pw")+trust))
	require.NoError(t, connect(t, login("SASL_PLAINTEXT", "SCRAM-SHA-512", scram, "alice", "alice-pw")))
	require.NoError(t, connect(t, login("SASL_PLAINTEXT", "PLAIN", plain, "bob", "bob-pw")))

	require.ErrorContains(t, connect(t, ssl), "certificate", "the broker wants a client certificate")
	require.ErrorIs(t, connect(t, login("SASL_SSL", "SCRAM-SHA-512", scram, "alice", "wrong")+trust), kerr.SaslAuthenticationFailed)
	require.ErrorIs(t, connect(t, login("SASL_PLAINTEXT", "PLAIN", plain, "bob", "wrong")), kerr.SaslAuthenticationFailed)
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, connect(t, login("SASL_SSL", "SCRAM-SHA-512", scram, "alice", "alice-pw")), &unknown,
		"the system does not trust the authority")

	// The stock tools take the same file.
	file := write(t, "stock.properties", login("SASL_SSL", "SCRAM-SHA-512", scram, "alice", "alice-pw")+trust)
	_, err := broker.Tool(t.Context(), kafkatest.TopicCommand,
		"--bootstrap-server", broker.Addr("SASL_SSL"), "--command-config", file, "--list")
	require.NoError(t, err)
}
