package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/config"
)

// env is an environment that holds only what a test says.
func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func load(t *testing.T, text string) (config.Kafka, []string, error) {
	t.Helper()
	return config.Load(config.Flags{
		CommandConfig: write(t, "client.properties", text), Version: "1.2.3", LookupEnv: env(nil),
	})
}

const scram = "org.apache.kafka.common.security.scram.ScramLoginModule"

func TestFlagsBeatEnvironmentBeatsFile(t *testing.T) {
	file := write(t, "client.properties", "bootstrap.servers=file:1\nsecurity.protocol=SASL_PLAINTEXT\n"+
		"sasl.mechanism=PLAIN\nsasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=\"f\" password=\"f\";\n")
	vars := map[string]string{config.EnvCommandConfig: file}
	k, notes, err := config.Load(config.Flags{LookupEnv: env(vars), Version: "1.2.3"})
	require.NoError(t, err)
	require.Empty(t, notes)
	require.Equal(t, []string{"file:1"}, k.Brokers)
	require.Equal(t, "offsetledger/1.2.3", k.ClientID)
	require.Equal(t, "file:1 SASL_PLAINTEXT PLAIN as f", k.String())

	vars[config.EnvBootstrapServers] = "env:2, env:3"
	vars["OFFSETLEDGER_SASL_USERNAME"] = "e"
	k, _, err = config.Load(config.Flags{LookupEnv: env(vars)})
	require.NoError(t, err)
	require.Equal(t, []string{"env:2", "env:3"}, k.Brokers)
	require.Equal(t, "e", k.Username)

	k, _, err = config.Load(config.Flags{LookupEnv: env(vars), BootstrapServers: "flag:4"})
	require.NoError(t, err)
	require.Equal(t, []string{"flag:4"}, k.Brokers)
}

func TestNoBrokersIsToldWhenTheyAreWanted(t *testing.T) {
	k, _, err := config.Load(config.Flags{LookupEnv: env(nil)})
	require.NoError(t, err)
	_, err = k.Options()
	require.ErrorIs(t, err, config.ErrNoBrokers)
}

func TestBrokerAddresses(t *testing.T) {
	for in, want := range map[string]string{
		"kafka:9093": "kafka:9093", "kafka": "kafka:9092", "[::1]:9092": "[::1]:9092", "[::1]": "[::1]:9092",
		"SASL_SSL://kafka:9094": "kafka:9094", "127.0.0.1:1": "127.0.0.1:1",
	} {
		k, _, err := config.Load(config.Flags{BootstrapServers: in, LookupEnv: env(nil)})
		require.NoError(t, err, in)
		require.Equal(t, []string{want}, k.Brokers)
	}
	for _, in := range []string{":9092", "kafka:", "kafka:port", "kafka:99999", "a:b:c", "kafka:http"} {
		_, _, err := config.Load(config.Flags{BootstrapServers: in, LookupEnv: env(nil)})
		require.ErrorContains(t, err, fmt.Sprintf("--bootstrap-servers: %q", in))
	}
}

func TestSettingsThatCannotBeHonouredAreRefusedByName(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a slip of a security key": {
			"\nssl.trustore.location=x\n", "client.properties:2: ssl.trustore.location: unknown setting (did you mean ssl.truststore.location?)"},
		"a slip of another key": {
			"bootstrap.server=x:1\n", "client.properties:1: bootstrap.server: unknown setting (did you mean bootstrap.servers?)"},
		"swapped letters": {
			"secuirty.protocol=SSL\n", "client.properties:1: secuirty.protocol: unknown setting (did you mean security.protocol?)"},
		"a Java class": {
			"sasl.login.class=com.example.Login\n", "client.properties:1: sasl.login.class: only a Java client can honour it; take it out"},
		"protocol": {
			"security.protocol=TLS\n", "client.properties:1: security.protocol: want PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"},
		"no mechanism": {
			"security.protocol=SASL_SSL\n", "sasl.mechanism: it is not set, and GSSAPI, the stock tools' default, is not supported: want PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"},
		"mechanism": {
			"security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n", "client.properties:2: sasl.mechanism: OAUTHBEARER is not supported: want PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"},
		"module of another mechanism": {
			"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config=" + scram + " required username=\"a\" password=\"b\";",
			"client.properties:3: sasl.jaas.config: its login module is not the one of PLAIN, org.apache.kafka.common.security.plain.PlainLoginModule"},
		"no semicolon": {
			"security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config=" + scram + " required username=\"a\" password=\"b\"",
			"client.properties:3: sasl.jaas.config: it does not end with a semicolon"},
		"no password": {
			"security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config=" + scram + " required username=\"a\";",
			"client.properties:3: sasl.jaas.config: no username and password: set them there, or by OFFSETLEDGER_SASL_USERNAME and OFFSETLEDGER_SASL_PASSWORD"},
		"host name check": {
			"security.protocol=SSL\nssl.endpoint.identification.algorithm=LDAPS\n",
			"client.properties:2: ssl.endpoint.identification.algorithm: want https, or nothing to turn the check of the host name off"},
		"TLS version": {
			"security.protocol=SSL\nssl.enabled.protocols=TLSv1.1,TLSv1.2\n",
			"client.properties:2: ssl.enabled.protocols: TLSv1.1 is not among TLSv1.2 and TLSv1.3"},
		"cipher": {
			"security.protocol=SSL\nssl.cipher.suites=TLS_RSA_WITH_RC4_128_SHA\n",
			"client.properties:2: ssl.cipher.suites: TLS_RSA_WITH_RC4_128_SHA is unknown or too weak to use"},
		"a provider of other secrets": {
			"config.providers=vault\nconfig.providers.vault.class=com.example.Vault\n",
			"client.properties:2: config.providers.vault.class: provider com.example.Vault is not known: only those for environment, file and directory are"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := load(t, c.text)
			require.Error(t, err)
			require.Equal(t, 1, strings.Count(err.Error()+"\n", "\n"), "one line: %v", err)
			require.True(t, strings.HasSuffix(err.Error(), c.want), "got %v", err)
		})
	}
}

func TestEveryFaultIsToldAtOnce(t *testing.T) {
	_, _, err := load(t, "ssl.x=1\nsasl.y=2\n")
	require.ErrorContains(t, err, "client.properties:1: ssl.x")
	require.ErrorContains(t, err, "client.properties:2: sasl.y")
}

func TestAMissingFileIsNamed(t *testing.T) {
	_, _, err := config.Load(config.Flags{CommandConfig: "/no/such/file", LookupEnv: env(nil)})
	require.EqualError(t, err, "read --command-config: file /no/such/file does not exist")
}

func TestWhatIsPassedOverIsToldInOneNote(t *testing.T) {
	k, notes, err := load(t, "bootstrap.servers=a:1\ngroup.id=g\nauto.offset.reset=earliest\nclient.id=x\n"+
		"max.poll.records=5\nssl.keymanager.algorithm=PKIX\nsasl.kerberos.service.name=kafka\ngroup.id=h\n")
	require.NoError(t, err)
	require.Len(t, notes, 1)
	require.True(t, strings.HasSuffix(notes[0],
		"client.properties: not used here: group.id, auto.offset.reset, client.id, max.poll.records, ssl.keymanager.algorithm, sasl.kerberos.service.name"), notes[0])
	require.Equal(t, "offsetledger/1.2.3", k.ClientID)
}

func TestSecurityThatTheProtocolLeavesIdleIsTold(t *testing.T) {
	_, notes, err := load(t, "sasl.mechanism=PLAIN\nssl.truststore.location=/x\n")
	require.NoError(t, err)
	require.Len(t, notes, 1)
	require.Equal(t, "without effect, since security.protocol is PLAINTEXT: sasl.mechanism, ssl.truststore.location", notes[0])
}

func TestTheEnvironmentAloneIsEnough(t *testing.T) {
	vars := map[string]string{
		"OFFSETLEDGER_BOOTSTRAP_SERVERS": "kafka:9093", "OFFSETLEDGER_SECURITY_PROTOCOL": "SASL_SSL",
		"OFFSETLEDGER_SASL_MECHANISM": "SCRAM-SHA-512", "OFFSETLEDGER_SASL_USERNAME": "alice", "OFFSETLEDGER_SASL_PASSWORD": "pw",
		"OFFSETLEDGER_SSL_TRUSTSTORE_LOCATION": "",
	}
	k, notes, err := config.Load(config.Flags{LookupEnv: env(vars)})
	require.NoError(t, err)
	require.Empty(t, notes)
	require.Equal(t, "kafka:9093 SASL_SSL SCRAM-SHA-512 as alice", k.String())

	vars["OFFSETLEDGER_SASL_MECHANISM"] = "GSSAPI"
	_, _, err = config.Load(config.Flags{LookupEnv: env(vars)})
	require.EqualError(t, err, "OFFSETLEDGER_SASL_MECHANISM: GSSAPI is not supported: want PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")

	vars["OFFSETLEDGER_SECURITY_PROTOCOL"] = "PLAINTEXT"
	_, notes, err = config.Load(config.Flags{LookupEnv: env(vars)})
	require.NoError(t, err)
	require.Equal(t, []string{"without effect, since security.protocol is PLAINTEXT: OFFSETLEDGER_SASL_MECHANISM"}, notes)

	vars["OFFSETLEDGER_BOOTSTRAP_SERVERS"] = "kafka:x"
	_, _, err = config.Load(config.Flags{LookupEnv: env(vars)})
	require.EqualError(t, err, `OFFSETLEDGER_BOOTSTRAP_SERVERS: "kafka:x" has no port that a broker could listen on`)
}

func TestReferencesToProviders(t *testing.T) {
	secrets := write(t, "secrets.properties", "user=from-file\n")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "host"), []byte("kafka:9099"), 0o600))
	text := "bootstrap.servers=${dir:" + dir + ":host}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n" +
		"sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=\"${file:" + secrets + ":user}\" password=\"${env:SECRET}\";\n"
	providers := "config.providers=env,file,dir\n" +
		"config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n" +
		"config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider\n" +
		"config.providers.dir.class=org.apache.kafka.common.config.provider.DirectoryConfigProvider\n"
	flags := config.Flags{CommandConfig: write(t, "c", providers+text), LookupEnv: env(map[string]string{"SECRET": "s"})}
	k, _, err := config.Load(flags)
	require.NoError(t, err)
	require.Equal(t, "kafka:9099 SASL_PLAINTEXT PLAIN as from-file", k.String())

	flags.LookupEnv = env(nil)
	_, _, err = config.Load(flags)
	require.ErrorContains(t, err, "c:8: sasl.jaas.config: environment variable SECRET is not set")

	// Without providers a reference is a text like any other, as it is to the stock tools.
	k, _, err = config.Load(config.Flags{CommandConfig: write(t, "c", strings.Replace(text, "${dir:"+dir+":host}", "a:1", 1)), LookupEnv: env(nil)})
	require.NoError(t, err)
	require.Equal(t, "${file:"+secrets+":user}", k.Username)
}

func TestNoSecretIsEverPrinted(t *testing.T) {
	const secret = "hunter2-Zq9"
	jaas := "sasl.jaas.config=" + scram + ` required username="alice" password="` + secret + `";` + "\n"
	text := "bootstrap.servers=a:1\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n" +
		"ssl.keystore.password=" + secret + "\n" + jaas
	k, notes, err := load(t, text)
	require.NoError(t, err)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("kafka", "config", k, "pointer", &k, "nested", []any{k})
	inJSON, err := json.Marshal(k)
	require.NoError(t, err)
	shown := fmt.Sprint(k, &k, notes) + fmt.Sprintf("%v %+v %#v %s %q %+v %#v", k, k, k, k, k, []any{&k}, struct{ K config.Kafka }{k}) + log.String() + string(inJSON)
	require.Contains(t, shown, "alice")
	require.NotContains(t, shown, secret)

	for _, broken := range []string{
		strings.Replace(text, `";`, `"`, 1),                                     // no semicolon
		strings.Replace(text, `password="`, `password=`, 1),                     // a quote that is not closed
		strings.Replace(text, `username="alice" password=`, `username="a" `, 1), // the password where a name is wanted
		strings.Replace(text, `required username="alice" password=`, ``, 1),
		strings.Replace(text, "ssl.keystore.password", "ssl.keystore.passwrod", 1),
		strings.Replace(text, secret+`"`, secret+`\\u12"`, 1),
		strings.Replace(text, secret+"\n", secret+"\\u12\n", 1),
		text + "ssl.truststore.location=/no/such\nsecurity.protocol=SASL_SSL\nssl.truststore.password=" + secret + "\n",
		text + "sasl.mechanism=PLAIN\n",
	} {
		if _, _, err := load(t, broken); err != nil {
			require.NotContains(t, err.Error(), secret)
		}
	}
}
