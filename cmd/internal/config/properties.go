package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// property is one setting of a properties file and the line that it begins on.
type property struct {
	key, value string
	line       int
}

// lineError is a fault of a properties file. It never quotes a value.
type lineError struct {
	file string
	line int
	msg  string
}

func (e *lineError) Error() string { return fmt.Sprintf("%s:%d: %s", e.file, e.line, e.msg) }

// parseProperties reads the text of a Java properties file, ISO-8859-1 as the stock tools read
// it, in its order. A key that stands twice is there twice: the last one counts.
func parseProperties(file string, text []byte) ([]property, error) {
	var out []property
	for _, l := range logicalLines(text) {
		key, value, ok := splitProperty(l.text)
		if !ok {
			return nil, &lineError{file, l.number, `a \u that four hexadecimal digits do not follow`}
		}
		out = append(out, property{key: key, value: value, line: l.number})
	}
	return out, nil
}

// logicalLine is a line with those that continue it, without blanks before it.
type logicalLine struct {
	text   string
	number int // of its first line, from 1
}

// logicalLines are the lines of a file less comments and blank ones. A line that ends in an odd
// number of backslashes goes on in the next one, whatever that looks like.
func logicalLines(text []byte) []logicalLine {
	runes := make([]rune, len(text))
	for i, b := range text {
		runes[i] = rune(b)
	}
	natural := strings.ReplaceAll(string(runes), "\r\n", "\n")
	lines := strings.Split(strings.ReplaceAll(natural, "\r", "\n"), "\n")

	var out []logicalLine
	for i := 0; i < len(lines); i++ {
		line := strings.TrimLeft(lines[i], blanks)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		l := logicalLine{number: i + 1}
		var b strings.Builder
		for continues(line) && i+1 < len(lines) {
			b.WriteString(line[:len(line)-1])
			i++
			line = strings.TrimLeft(lines[i], blanks)
		}
		if continues(line) { // the file ends in a backslash
			line = line[:len(line)-1]
		}
		b.WriteString(line)
		if l.text = b.String(); l.text != "" {
			out = append(out, l)
		}
	}
	return out
}

const blanks = " \t\f"

func continues(line string) bool {
	n := 0
	for n < len(line) && line[len(line)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// splitProperty cuts a line at the first = or : or blank that is not escaped. Blanks around
// the separator are no part of either side; those at the end are part of the value.
func splitProperty(line string) (key, value string, ok bool) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
		} else if strings.IndexByte("=:"+blanks, line[i]) >= 0 {
			end = i
			break
		}
	}
	key, rest := line[:end], strings.TrimLeft(line[end:], blanks)
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], blanks)
	}
	key, keyOK := unescape(key)
	value, valueOK := unescape(rest)
	return key, value, keyOK && valueOK
}

// unescape resolves \t \n \r \f and \uXXXX; any other escaped character stands for itself.
func unescape(s string) (string, bool) {
	if !strings.ContainsRune(s, '\\') {
		return s, true
	}
	var b strings.Builder
	runes := []rune(s)
	var units []uint16 // of adjacent \u escapes, which may be halves of one character
	flush := func() {
		b.WriteString(string(utf16.Decode(units)))
		units = units[:0]
	}
	for i := 0; i < len(runes); i++ {
		if runes[i] != '\\' || i+1 == len(runes) {
			flush()
			b.WriteRune(runes[i])
			continue
		}
		i++
		if runes[i] == 'u' {
			if i+4 >= len(runes) {
				return "", false
			}
			unit, err := strconv.ParseUint(string(runes[i+1:i+5]), 16, 16)
			if err != nil {
				return "", false
			}
			units = append(units, uint16(unit))
			i += 4
			continue
		}
		flush()
		if at := strings.IndexRune("tnrf", runes[i]); at >= 0 {
			b.WriteByte("\t\n\r\f"[at])
		} else {
			b.WriteRune(runes[i])
		}
	}
	flush()
	return b.String(), true
}
