package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// settings are the properties that are honoured, with where they came from.
type settings struct {
	file      string              // empty without one
	values    map[string]property // by key; of line 0 where the environment said it
	ignored   []string            // keys that were passed over, in the order of the file
	lookupEnv func(string) (string, bool)
}

// readSettings reads the properties file, if there is one, and then the environment, which
// counts more.
func readSettings(file string, lookupEnv func(string) (string, bool)) (*settings, error) {
	s := &settings{file: file, values: make(map[string]property), lookupEnv: lookupEnv}
	if file != "" {
		if err := s.readFile(); err != nil {
			return nil, err
		}
	}
	for _, key := range honoured {
		if v, ok := lookupEnv(EnvName(key)); ok && v != "" {
			s.values[key] = property{key: key, value: v}
		}
	}
	return s, nil
}

// EnvName is the environment variable that says the same as a property: sasl.mechanism is
// OFFSETLEDGER_SASL_MECHANISM. An empty one says nothing.
func EnvName(key string) string {
	return "OFFSETLEDGER_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

func (s *settings) readFile() error {
	text, err := os.ReadFile(s.file)
	if err != nil {
		return fmt.Errorf("read --command-config: %w", pathError(err))
	}
	props, err := parseProperties(s.file, text)
	if err != nil {
		return err
	}
	var faults []error
	for _, p := range props {
		p.value = strings.TrimSpace(p.value) // as the stock tools do
		switch classify(p.key) {
		case classHonoured:
			s.values[p.key] = p
		case classIgnored:
			if !slices.Contains(s.ignored, p.key) {
				s.ignored = append(s.ignored, p.key)
			}
		case classJavaOnly:
			faults = append(faults, &lineError{s.file, p.line, p.key + ": only a Java client can honour it; take it out"})
		case classUnknown:
			near, _ := nearest(p.key)
			faults = append(faults, &lineError{s.file, p.line, fmt.Sprintf("%s: unknown setting (did you mean %s?)", p.key, near)})
		}
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	return s.resolve()
}

func (s *settings) value(key string) string { return s.values[key].value }

func (s *settings) has(key string) bool { _, ok := s.values[key]; return ok }

// list is a comma-separated value.
func (s *settings) list(key string) []string {
	var out []string
	for item := range strings.SplitSeq(s.value(key), ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// fault is an error about a setting, at its line or by its environment variable.
func (s *settings) fault(key, msg string) error {
	p, ok := s.values[key]
	switch {
	case ok && p.line > 0:
		return &lineError{s.file, p.line, key + ": " + msg}
	case ok:
		return fmt.Errorf("%s: %s", EnvName(key), msg)
	case s.file != "":
		return fmt.Errorf("%s: %s: %s", s.file, key, msg)
	}
	return fmt.Errorf("%s: %s", key, msg)
}

// origin is how a setting is called where it stands.
func (s *settings) origin(key string) string {
	if p, ok := s.values[key]; ok && p.line == 0 {
		return EnvName(key)
	}
	return key
}

// pathError is an error about a file in few words.
func pathError(err error) error {
	var pe *fs.PathError
	switch {
	case !errors.As(err, &pe):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("file %s does not exist", pe.Path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("file %s may not be read by this user", pe.Path)
	}
	return fmt.Errorf("file %s: %w", pe.Path, pe.Err)
}
