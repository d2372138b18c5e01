package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A reference in a value: ${provider:key} or ${provider:path:key}.
var reference = regexp.MustCompile(`\$\{([^}:]+):(([^}]*?):)?([^}]*)\}`)

// Classes of config providers that clients of Kafka bring along.
const (
	providerEnv       = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
	providerFile      = "org.apache.kafka.common.config.provider.FileConfigProvider"
	providerDirectory = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
)

// resolve replaces references to the providers that config.providers names. Without it they
// stay as they are, as in the stock tools.
func (s *settings) resolve() error {
	names := s.list(keyProviders)
	if len(names) == 0 {
		return nil
	}
	classes := make(map[string]string)
	for _, name := range names {
		key := keyProviders + "." + name + ".class"
		class := s.value(key)
		switch class {
		case providerEnv, providerFile, providerDirectory:
			classes[name] = class
		case "":
			return s.fault(keyProviders, fmt.Sprintf("%s is missing", key))
		default:
			return s.fault(key, fmt.Sprintf("provider %s is not known: only those for environment, file and directory are", class))
		}
	}
	for key, p := range s.values {
		if strings.HasPrefix(key, keyProviders+".") && strings.Contains(key, ".param.") {
			return s.fault(key, "parameters of providers are not known")
		}
		value, err := s.expand(classes, p.value)
		if err != nil {
			return s.fault(key, err.Error())
		}
		p.value = value
		s.values[key] = p
	}
	return nil
}

func (s *settings) expand(classes map[string]string, value string) (string, error) {
	var failed error
	out := reference.ReplaceAllStringFunc(value, func(ref string) string {
		m := reference.FindStringSubmatch(ref)
		class, ok := classes[m[1]]
		if !ok {
			return ref
		}
		got, err := s.lookUp(class, m[3], m[4])
		if err != nil && failed == nil {
			failed = err
		}
		return got
	})
	return out, failed
}

func (s *settings) lookUp(class, path, key string) (string, error) {
	switch class {
	case providerEnv:
		value, ok := s.lookupEnv(key)
		if !ok {
			return "", fmt.Errorf("environment variable %s is not set", key)
		}
		return value, nil
	case providerDirectory:
		data, err := os.ReadFile(filepath.Join(path, filepath.Base(key)))
		if err != nil {
			return "", pathError(err)
		}
		return string(data), nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", pathError(err)
	}
	props, err := parseProperties(path, data)
	if err != nil {
		return "", err
	}
	for i := len(props) - 1; i >= 0; i-- {
		if props[i].key == key {
			return props[i].value, nil
		}
	}
	return "", fmt.Errorf("%s has no key %s", path, key)
}
