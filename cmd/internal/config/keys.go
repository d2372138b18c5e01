package config

import (
	"cmp"
	"slices"
	"strings"
)

// The settings that are honoured.
const (
	keyBootstrap      = "bootstrap.servers"
	keyProtocol       = "security.protocol"
	keyMechanism      = "sasl.mechanism"
	keyJAAS           = "sasl.jaas.config"
	keyTrustLocation  = "ssl.truststore.location"
	keyTrustType      = "ssl.truststore.type"
	keyTrustPassword  = "ssl.truststore.password"
	keyTrustCerts     = "ssl.truststore.certificates"
	keyStoreLocation  = "ssl.keystore.location"
	keyStoreType      = "ssl.keystore.type"
	keyStorePassword  = "ssl.keystore.password"
	keyStoreKey       = "ssl.keystore.key"
	keyStoreChain     = "ssl.keystore.certificate.chain"
	keyKeyPassword    = "ssl.key.password"
	keyIdentification = "ssl.endpoint.identification.algorithm"
	keyEnabled        = "ssl.enabled.protocols"
	keyTLSProtocol    = "ssl.protocol"
	keyCiphers        = "ssl.cipher.suites"
	keyProviders      = "config.providers"
)

// honoured are all of them, in the order in which notes name them.
var honoured = []string{
	keyBootstrap, keyProtocol, keyMechanism, keyJAAS,
	keyTrustLocation, keyTrustType, keyTrustPassword, keyTrustCerts,
	keyStoreLocation, keyStoreType, keyStorePassword, keyStoreKey, keyStoreChain, keyKeyPassword,
	keyIdentification, keyEnabled, keyTLSProtocol, keyCiphers, keyProviders,
}

// harmless are security settings of Java clients that change nothing for the mechanisms and
// stores that are honoured. A trailing dot stands for all that begin so.
var harmless = []string{
	"ssl.keymanager.algorithm", "ssl.trustmanager.algorithm", "ssl.secure.random.implementation",
	"sasl.kerberos.", "sasl.oauthbearer.", "sasl.login.refresh.", "sasl.login.connect.timeout.ms",
	"sasl.login.read.timeout.ms", "sasl.login.retry.backoff.",
}

// javaOnly are security settings that name Java classes, whose effect cannot be had here.
var javaOnly = []string{
	"ssl.provider", "ssl.engine.factory.class", "security.providers",
	"sasl.client.callback.handler.class", "sasl.login.callback.handler.class", "sasl.login.class",
}

type keyClass int

const (
	classHonoured keyClass = iota
	classIgnored           // of consumers, producers, admin clients; or harmless
	classJavaOnly
	classUnknown // of security, or almost the name of one that is honoured
)

func classify(key string) keyClass {
	switch {
	case slices.Contains(honoured, key), strings.HasPrefix(key, keyProviders+"."):
		return classHonoured
	case slices.Contains(javaOnly, key):
		return classJavaOnly
	case slices.ContainsFunc(harmless, func(h string) bool {
		return key == h || strings.HasSuffix(h, ".") && strings.HasPrefix(key, h)
	}):
		return classIgnored
	case hasAnyPrefix(key, "ssl.", "sasl.", "security."):
		return classUnknown
	}
	if _, distance := nearest(key); distance <= 2 {
		return classUnknown // a slip of the pen: secuirty.protocol
	}
	return classIgnored
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// nearest is the honoured key that takes the fewest edits to reach, and how many.
func nearest(key string) (string, int) {
	best := slices.MinFunc(honoured, func(a, b string) int {
		return cmp.Compare(edits(key, a), edits(key, b))
	})
	return best, edits(key, best)
}

// edits is the number of bytes to insert, delete or replace, or neighbours to swap, to make b
// of a.
func edits(a, b string) int {
	before, prev := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			same := 1
			if a[i] == b[j] {
				same = 0
			}
			row[j+1] = min(prev[j]+same, prev[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, prev = prev, row
	}
	return prev[len(b)]
}
