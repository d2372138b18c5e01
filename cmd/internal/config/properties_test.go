package config

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// What java.util.Properties makes of a text (OpenJDK 17).
func TestPropertiesAreReadAsJavaReadsThem(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []property
	}{
		"separators": {"a=1\nb:2\nc 3\nd\t=\t4\ne : 5\nf==6\n", []property{
			{"a", "1", 1}, {"b", "2", 2}, {"c", "3", 3}, {"d", "4", 4}, {"e", "5", 5}, {"f", "=6", 6},
		}},
		"no value":                   {"a\nb=\n", []property{{"a", "", 1}, {"b", "", 2}}},
		"no key":                     {"=x\n", []property{{"", "x", 1}}},
		"comments and blank lines":   {"# a=1\n  ! b=2\n\n \t\nc=#3\n", []property{{"c", "#3", 5}}},
		"a comment is not continued": {"# a \\\nb=1", []property{{"b", "1", 2}}},
		"continued lines":            {"a=one,\\\n   two,\\\n\tthree\nb=4", []property{{"a", "one,two,three", 1}, {"b", "4", 4}}},
		"a continued comment sign":   {"a=1\\\n#2", []property{{"a", "1#2", 1}}},
		"an even number of backslashes does not continue": {`a=C:\\` + "\nb=1", []property{{"a", `C:\`, 1}, {"b", "1", 2}}},
		"a backslash at the very end":                     {`a=1\`, []property{{"a", "1", 1}}},
		"escapes":                                         {`a\=b\:c\ d=\t\n\r\f\q\\`, []property{{"a=b:c d", "\t\n\r\fq\\", 1}}},
		"unicode":                                         {`a=\u00fc\uD83D\uDE00x`, []property{{"a", "ü😀x", 1}}},
		"bytes are Latin-1":                               {"a=\xfc", []property{{"a", "ü", 1}}},
		"line ends of all systems":                        {"a=1\r\nb=2\rc=3\n", []property{{"a", "1", 1}, {"b", "2", 2}, {"c", "3", 3}}},
		"blanks at the end stay":                          {"a=1 \n", []property{{"a", "1 ", 1}}},
		"twice":                                           {"a=1\na=2\n", []property{{"a", "1", 1}, {"a", "2", 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseProperties("f", []byte(c.text))
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestMalformedEscapeNamesItsLine(t *testing.T) {
	for _, text := range []string{"a=1\nb=\\u12", "a=1\nb=\\u12G4", "a=1\nb=\\u"} {
		_, err := parseProperties("client.properties", []byte(text))
		require.EqualError(t, err, `client.properties:2: a \u that four hexadecimal digits do not follow`)
	}
}

func FuzzProperties(f *testing.F) {
	for _, s := range []string{"a=1", "a\\\n b : c\\u0041", "# x\n!y\n \\", "a\\", "\\\\\r\n=\f:", "\xff\\uD83D"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		props, err := parseProperties("f", text)
		if err != nil {
			return
		}
		lines := strings.Count(strings.ReplaceAll(strings.ReplaceAll(string(text), "\r\n", "\n"), "\r", "\n"), "\n") + 1
		last := 0
		for _, p := range props {
			require.True(t, utf8.ValidString(p.key) && utf8.ValidString(p.value))
			require.Greater(t, p.line, last)
			require.LessOrEqual(t, p.line, lines)
			last = p.line
		}
		// What was read can be written so that it reads the same again.
		again, err := parseProperties("f", writeProperties(props))
		require.NoError(t, err)
		require.Len(t, again, len(props))
		for i := range props {
			require.Equal(t, props[i].key, again[i].key)
			require.Equal(t, props[i].value, again[i].value)
		}
	})
}

// writeProperties writes every character as an escape, as Java's own writer may.
func writeProperties(props []property) []byte {
	var b strings.Builder
	escape := func(s string) {
		for _, r := range s {
			for _, unit := range utf16Units(r) {
				b.WriteString(`\u`)
				for shift := 12; shift >= 0; shift -= 4 {
					b.WriteByte("0123456789abcdef"[unit>>shift&0xf])
				}
			}
		}
	}
	for _, p := range props {
		escape(p.key)
		b.WriteByte('=')
		escape(p.value)
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

func utf16Units(r rune) []uint16 {
	if r >= 0x10000 {
		r -= 0x10000
		return []uint16{uint16(0xd800 + r>>10), uint16(0xdc00 + r&0x3ff)}
	}
	return []uint16{uint16(r)}
}

func FuzzJAAS(f *testing.F) {
	f.Add(`org.x.PlainLoginModule required username="a" password="b\"c\101";`)
	f.Add(`m required a='`)
	f.Add(`m required a=b c;x`)
	f.Fuzz(func(t *testing.T, text string) {
		const hidden = "s3cr3t-zzz"
		if _, err := parseJAAS(text); err == nil {
			return
		}
		// Whatever is wrong, a password beside it is not in the error.
		_, err := parseJAAS(`m required password="` + hidden + `" ` + text)
		if err != nil {
			require.NotContains(t, err.Error(), hidden)
		}
	})
}
