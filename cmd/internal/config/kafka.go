package config

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Environment variables. Beside these, every property that is honoured has one of the name
// that [EnvName] makes, its passwords too. What a flag says counts more than the environment,
// what the properties file says counts less.
const (
	EnvBootstrapServers = "OFFSETLEDGER_BOOTSTRAP_SERVERS"
	EnvCommandConfig    = "OFFSETLEDGER_COMMAND_CONFIG"
	EnvSASLUsername     = "OFFSETLEDGER_SASL_USERNAME" // in the place of the one in sasl.jaas.config
	EnvSASLPassword     = "OFFSETLEDGER_SASL_PASSWORD" // likewise
)

// Flags are what the command line says of Kafka, and what it is to be read with.
type Flags struct {
	BootstrapServers string // -B, --bootstrap-servers: host:port, separated by commas
	CommandConfig    string // --command-config: a Java properties file
	Version          string // of offsetledger, told to the brokers
	// LookupEnv reads an environment variable; nil is os.LookupEnv.
	LookupEnv func(string) (string, bool)
}

// Kafka is how to reach a cluster. Its text forms hold no secret.
type Kafka struct {
	Brokers   []string // host:port, in the order given; empty where nothing names any
	Protocol  string   // PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL
	Mechanism string   // of SASL; empty without it
	Username  string   // of SASL; empty without it
	ClientID  string

	tls  *tls.Config
	sasl sasl.Mechanism
}

// ErrNoBrokers says that neither flag, environment nor properties file names a broker.
var ErrNoBrokers = errors.New("no Kafka broker is named: use -B HOST:PORT, " + EnvBootstrapServers +
	", or bootstrap.servers in the file of --command-config")

// Load reads how to reach Kafka. The notes are for people, one line each: what was passed over.
// That no broker is named is no error here but of [Kafka.Options].
func Load(flags Flags) (k Kafka, notes []string, err error) {
	lookup := flags.LookupEnv
	if lookup == nil {
		lookup = os.LookupEnv
	}
	file := flags.CommandConfig
	if file == "" {
		file, _ = lookup(EnvCommandConfig)
	}
	s, err := readSettings(file, lookup)
	if err != nil {
		return Kafka{}, nil, err
	}
	k.ClientID = "offsetledger/" + flags.Version
	if err := errors.Join(k.setBrokers(s, flags.BootstrapServers), k.setSecurity(s)); err != nil {
		return Kafka{}, nil, err
	}
	return k, s.notes(k), nil
}

// notes say what was passed over, and which security settings the protocol makes idle.
func (s *settings) notes(k Kafka) []string {
	var notes []string
	if len(s.ignored) > 0 {
		notes = append(notes, fmt.Sprintf("%s: not used here: %s", s.file, strings.Join(s.ignored, ", ")))
	}
	var idle []string
	for _, key := range honoured {
		if s.has(key) && (strings.HasPrefix(key, "ssl.") && k.tls == nil || strings.HasPrefix(key, "sasl.") && k.sasl == nil) {
			idle = append(idle, s.origin(key))
		}
	}
	if len(idle) > 0 {
		notes = append(notes, fmt.Sprintf("without effect, since %s is %s: %s", keyProtocol, k.Protocol, strings.Join(idle, ", ")))
	}
	return notes
}

func (k *Kafka) setBrokers(s *settings, flag string) error {
	list := flag
	if list == "" {
		list = s.value(keyBootstrap)
	}
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		addr, err := brokerAddr(item)
		if err != nil && flag != "" {
			return fmt.Errorf("--bootstrap-servers: %w", err)
		}
		if err != nil {
			return s.fault(keyBootstrap, err.Error())
		}
		k.Brokers = append(k.Brokers, addr)
	}
	return nil
}

// brokerAddr is host:port of one entry, which may begin with a protocol, as Kafka's may, and
// may leave Kafka's own port out.
func brokerAddr(s string) (string, error) {
	addr := s
	if _, after, ok := strings.Cut(addr, "://"); ok {
		addr = after
	}
	if strings.Contains(addr, "@") {
		return "", errors.New("a broker is HOST:PORT without a user and a password, which belong into sasl.jaas.config in the file of --command-config")
	}
	host, port, err := net.SplitHostPort(addr)
	var ae *net.AddrError
	if errors.As(err, &ae) && ae.Err == "missing port in address" {
		host, port, err = net.SplitHostPort(addr + ":9092")
	}
	if err != nil || host == "" {
		return "", fmt.Errorf("%q is not HOST:PORT", s)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("%q has no port that a broker could listen on", s)
	}
	return net.JoinHostPort(host, port), nil
}

func (k *Kafka) setSecurity(s *settings) error {
	k.Protocol = strings.ToUpper(s.value(keyProtocol))
	if k.Protocol == "" {
		k.Protocol = "PLAINTEXT"
	}
	var err error
	switch k.Protocol {
	case "PLAINTEXT":
	case "SSL":
		k.tls, err = s.tlsConfig()
	case "SASL_PLAINTEXT":
		err = k.setSASL(s)
	case "SASL_SSL":
		var saslErr error
		k.tls, err = s.tlsConfig()
		saslErr = k.setSASL(s)
		err = errors.Join(err, saslErr)
	default:
		err = s.fault(keyProtocol, "want PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL")
	}
	return err
}

// Login modules, by mechanism.
var modules = map[string]string{
	"PLAIN":         "org.apache.kafka.common.security.plain.PlainLoginModule",
	"SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
	"SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}

func (k *Kafka) setSASL(s *settings) error {
	k.Mechanism = s.value(keyMechanism)
	switch {
	case k.Mechanism == "":
		return s.fault(keyMechanism, "it is not set, and GSSAPI, the stock tools' default, is not supported: want PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
	case modules[k.Mechanism] == "":
		return s.fault(keyMechanism, k.Mechanism+" is not supported: want PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
	}
	var l login
	if s.has(keyJAAS) {
		var err error
		if l, err = parseJAAS(s.value(keyJAAS)); err != nil {
			return s.fault(keyJAAS, err.Error())
		}
		if l.module != modules[k.Mechanism] {
			return s.fault(keyJAAS, fmt.Sprintf("its login module is not the one of %s, %s", k.Mechanism, modules[k.Mechanism]))
		}
	}
	if v, ok := s.lookupEnv(EnvSASLUsername); ok {
		l.username = v
	}
	if v, ok := s.lookupEnv(EnvSASLPassword); ok {
		l.password = v
	}
	if l.username == "" || l.password == "" {
		return s.fault(keyJAAS, fmt.Sprintf("no username and password: set them there, or by %s and %s", EnvSASLUsername, EnvSASLPassword))
	}
	k.Username = l.username
	k.sasl = mechanism(k.Mechanism, l)
	return nil
}

// mechanism keeps the login inside a function, where no printing of a struct finds it.
func mechanism(name string, l login) sasl.Mechanism {
	if name == "PLAIN" {
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			return plain.Auth{User: l.username, Pass: l.password}, nil
		})
	}
	auth := func(context.Context) (scram.Auth, error) {
		return scram.Auth{User: l.username, Pass: l.password, IsToken: l.token}, nil
	}
	if name == "SCRAM-SHA-256" {
		return scram.Sha256(auth)
	}
	return scram.Sha512(auth)
}

// Options are the client options that reach the cluster: ErrNoBrokers where none is named.
func (k Kafka) Options() ([]kgo.Opt, error) {
	if len(k.Brokers) == 0 {
		return nil, ErrNoBrokers
	}
	opts := []kgo.Opt{kgo.SeedBrokers(k.Brokers...), kgo.ClientID(k.ClientID)}
	if k.tls != nil {
		opts = append(opts, kgo.DialTLSConfig(k.tls.Clone()))
	}
	if k.sasl != nil {
		opts = append(opts, kgo.SASL(k.sasl))
	}
	return opts, nil
}

// String is the cluster in one line, for people: where, how, as whom.
func (k Kafka) String() string {
	s := strings.Join(k.Brokers, ",") + " " + k.Protocol
	if k.Mechanism != "" {
		s += fmt.Sprintf(" %s as %s", k.Mechanism, k.Username)
	}
	return s
}

// GoString is String: the fields hold keys and logins.
func (k Kafka) GoString() string { return k.String() }

// LogValue is what a log shows of it.
func (k Kafka) LogValue() slog.Value { return slog.StringValue(k.String()) }
