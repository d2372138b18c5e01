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
	file      string // empty without one
	values    map[string]property
	ignored   []string // keys that were passed over, in the order of the file
	lookupEnv func(string) (string, bool)
}

// readSettings reads the properties file, if there is one. What the environment says of the
// same keys counts more.
func readSettings(file string, lookupEnv func(string) (string, bool)) (*settings, error) {
	s := &settings{file: file, values: make(map[string]property), lookupEnv: lookupEnv}
	if file == "" {
		return s, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read --command-config: %w", pathError(err))
	}
	props, err := parseProperties(file, text)
	if err != nil {
		return nil, err
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
			faults = append(faults, &lineError{file, p.line, p.key + ": only a Java client can honour it; take it out"})
		case classUnknown:
			near, _ := nearest(p.key)
			faults = append(faults, &lineError{file, p.line, fmt.Sprintf("%s: unknown setting (did you mean %s?)", p.key, near)})
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return s, s.resolve()
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

// secret is a password: from the environment variable, else from the file.
func (s *settings) secret(env, key string) (string, bool) {
	if v, ok := s.lookupEnv(env); ok {
		return v, true
	}
	p, ok := s.values[key]
	return p.value, ok
}

// fault is an error about a setting, at its line.
func (s *settings) fault(key, msg string) error {
	p, ok := s.values[key]
	if !ok {
		if s.file == "" {
			return fmt.Errorf("%s: %s", key, msg)
		}
		return fmt.Errorf("%s: %s: %s", s.file, key, msg)
	}
	return &lineError{s.file, p.line, key + ": " + msg}
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
