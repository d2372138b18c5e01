package kafkatest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
)

// Listener names are those of Kafka's security protocols, but for the controller's.
const (
	listenerPlain      = "PLAINTEXT"
	listenerController = "CONTROLLER"
)

var saslModules = map[string]string{
	"PLAIN":         "org.apache.kafka.common.security.plain.PlainLoginModule",
	"SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
	"SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}

func (c RealConfig) listeners() []string {
	names := []string{listenerPlain, listenerController}
	if c.Certs != nil {
		names = append(names, "SSL")
	}
	if len(c.Users) > 0 {
		names = append(names, "SASL_PLAINTEXT")
	}
	if c.Certs != nil && len(c.Users) > 0 {
		names = append(names, "SASL_SSL")
	}
	return names
}

func (r *Real) properties() string { return filepath.Join(r.cfg.Dir, "server.properties") }
func (r *Real) keystore() string   { return filepath.Join(r.cfg.Dir, "keystore.pem") }
func (r *Real) dataDir() string    { return filepath.Join(r.cfg.Dir, "data") }

// serverProperties is the configuration of the one node.
func (r *Real) serverProperties() []byte {
	var listeners, advertised, protocols []string
	for _, name := range r.cfg.listeners() {
		at := fmt.Sprintf("%s://%s", name, r.Addr(name))
		protocol := name
		if name == listenerController {
			protocol = listenerPlain
		} else {
			advertised = append(advertised, at)
		}
		listeners = append(listeners, at)
		protocols = append(protocols, name+":"+protocol)
	}
	p := map[string]string{
		"process.roles":                                    "broker,controller",
		"node.id":                                          "1",
		"listeners":                                        strings.Join(listeners, ","),
		"advertised.listeners":                             strings.Join(advertised, ","),
		"inter.broker.listener.name":                       listenerPlain,
		"controller.listener.names":                        listenerController,
		"listener.security.protocol.map":                   strings.Join(protocols, ","),
		"controller.quorum.voters":                         "1@" + r.Addr(listenerController),
		"log.dirs":                                         r.dataDir(),
		"offsets.topic.num.partitions":                     fmt.Sprint(r.cfg.Partitions),
		"offsets.topic.replication.factor":                 "1",
		"transaction.state.log.replication.factor":         "1",
		"transaction.state.log.min.isr":                    "1",
		"transaction.state.log.num.partitions":             "4",
		"share.coordinator.state.topic.replication.factor": "1",
		"share.coordinator.state.topic.min.isr":            "1",
		"group.initial.rebalance.delay.ms":                 "0",
		// A killed broker may register again only when its last session has run out.
		"broker.session.timeout.ms":    "3000",
		"broker.heartbeat.interval.ms": "500",
	}
	r.addSecurity(p)
	maps.Copy(p, r.cfg.Properties)
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&b, "%s=%s\n", k, strings.ReplaceAll(p[k], `\`, `\\`))
	}
	return []byte(b.String())
}

func (r *Real) addSecurity(p map[string]string) {
	if r.cfg.Certs != nil {
		p["ssl.keystore.type"] = "PEM"
		p["ssl.keystore.location"] = r.keystore()
	}
	if r.cfg.ACLs {
		p["authorizer.class.name"] = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
		super := []string{"User:ANONYMOUS"}
		for _, u := range r.cfg.Users {
			if u.Super {
				super = append(super, "User:"+u.Name)
			}
		}
		p["super.users"] = strings.Join(super, ";")
	}
	logins := make(map[string]string) // by mechanism: what follows "required"
	for _, u := range r.cfg.Users {
		if u.Mechanism == "PLAIN" {
			logins[u.Mechanism] += fmt.Sprintf(` user_%s="%s"`, u.Name, u.Password)
		} else {
			logins[u.Mechanism] = ""
		}
	}
	if len(logins) > 0 {
		p["sasl.enabled.mechanisms"] = strings.Join(slices.Sorted(maps.Keys(logins)), ",")
	}
	for mechanism, login := range logins {
		for _, name := range r.cfg.listeners() {
			if strings.HasPrefix(name, "SASL_") {
				key := fmt.Sprintf("listener.name.%s.%s.sasl.jaas.config", strings.ToLower(name), strings.ToLower(mechanism))
				p[key] = saslModules[mechanism] + " required" + login + ";"
			}
		}
	}
}

// freePorts finds a loopback port for each name. They lie below the range from which systems
// take the ports of outgoing connections, so none is lost while the broker is down.
func freePorts(names []string) (map[string]int, error) {
	const low, high, tries = 15000, 32000, 200
	ports := make(map[string]int)
	for range tries {
		if len(ports) == len(names) {
			return ports, nil
		}
		port := low + rand.IntN(high-low)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }()
		ports[names[len(ports)]] = port
	}
	return nil, fmt.Errorf("found no free loopback ports between %d and %d", low, high)
}
