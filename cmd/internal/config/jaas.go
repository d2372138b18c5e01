package config

import (
	"errors"
	"fmt"
	"strings"
)

// login is who logs in, as sasl.jaas.config says.
type login struct {
	module   string // class name of the login module
	username string
	password string
	token    bool // the login is a delegation token
}

// parseJAAS reads the one login module of a sasl.jaas.config:
//
//	org.apache….PlainLoginModule required username="alice" password="…";
//
// Its errors never quote the text, which holds a password.
func parseJAAS(text string) (login, error) {
	s := &jaasScanner{rest: text}
	module, _, err := s.word()
	if err != nil || module == "" {
		return login{}, errors.Join(errors.New("the name of a login module is missing"), err)
	}
	l := login{module: module}
	flag, _, err := s.word()
	if err != nil {
		return login{}, err
	}
	switch strings.ToLower(flag) {
	case "required", "requisite", "sufficient", "optional":
	default:
		return login{}, errors.New("the login module is not followed by required")
	}
	for {
		if s.take(';') {
			if s.skipBlanks(); s.rest != "" {
				return login{}, errors.New("something follows the semicolon: one login module is wanted")
			}
			return l, nil
		}
		if err := l.option(s); err != nil {
			return login{}, err
		}
	}
}

// option reads one name=value. Options that are not of the login are of no use to a client.
func (l *login) option(s *jaasScanner) error {
	name, _, err := s.word()
	if err != nil {
		return err
	}
	if name == "" {
		return errors.New("it does not end with a semicolon")
	}
	if !s.take('=') {
		return errors.New("an option has no = after its name")
	}
	value, quoted, err := s.word()
	if err != nil {
		return err
	}
	if value == "" && !quoted {
		return fmt.Errorf("option %s has no value; quote values that hold more than letters and digits", printable(name))
	}
	switch name {
	case "username":
		l.username = value
	case "password":
		l.password = value
	case "tokenauth":
		l.token = strings.EqualFold(value, "true")
	}
	return nil
}

// printable is the name of an option, if it looks like one: in a text that is quoted wrongly
// it can be a piece of the password.
func printable(name string) string {
	switch name {
	case "username", "password", "tokenauth":
		return name
	}
	return "of another name"
}

// jaasScanner takes words, quoted strings and single characters from a text, as Java's
// StreamTokenizer does for the stock tools.
type jaasScanner struct{ rest string }

func (s *jaasScanner) skipBlanks() { s.rest = strings.TrimLeft(s.rest, " \t\r\n\f") }

func (s *jaasScanner) take(c byte) bool {
	s.skipBlanks()
	if s.rest == "" || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// word is the next word or quoted string; empty and not quoted where neither comes.
func (s *jaasScanner) word() (text string, quoted bool, err error) {
	s.skipBlanks()
	if s.rest != "" && (s.rest[0] == '"' || s.rest[0] == '\'') {
		text, err = s.quotedString()
		return text, true, err
	}
	n := 0
	for n < len(s.rest) && isWord(s.rest[n]) {
		n++
	}
	text, s.rest = s.rest[:n], s.rest[n:]
	return text, false, nil
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' ||
		c == '.' || c == '-' || c == '_' || c == '$' || c >= 0x80
}

// quotedString reads to the closing quote, with Java's escapes: letters, octal, itself.
func (s *jaasScanner) quotedString() (string, error) {
	quote := s.rest[0]
	var b strings.Builder
	for i := 1; i < len(s.rest); i++ {
		c := s.rest[i]
		switch {
		case c == quote:
			s.rest = s.rest[i+1:]
			return b.String(), nil
		case c == '\n' || c == '\r':
			return "", errUnclosed
		case c == '\\' && i+1 < len(s.rest):
			i++
			if n := octal(s.rest[i:]); n > 0 {
				value := 0
				for _, d := range s.rest[i : i+n] {
					value = value*8 + int(d-'0')
				}
				b.WriteRune(rune(value))
				i += n - 1
			} else if at := strings.IndexByte("abfnrtv", s.rest[i]); at >= 0 {
				b.WriteByte("\a\b\f\n\r\t\v"[at])
			} else {
				b.WriteByte(s.rest[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", errUnclosed
}

var errUnclosed = errors.New("a quote is not closed")

// octal is how many digits of an octal escape s begins with: up to three, up to \377.
func octal(s string) int {
	n := 0
	for n < len(s) && n < 3 && s[n] >= '0' && s[n] <= '7' {
		n++
	}
	if n == 3 && s[0] > '3' {
		n = 2
	}
	return n
}
