package main

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/config"
)

// fromSource is the program as it is called from a clone of the source.
const fromSource = "go run ./cmd/offsetledger"

// builtByRun is where go run puts what it builds: below a directory for temporary work, or in
// its cache under a hash.
var builtByRun = regexp.MustCompile(`/go-build[0-9]*/|/[0-9a-f]{64}-d/`)

// typedProgram is how the program was called, of the path that it was started by.
func typedProgram(path string) string {
	slashed := filepath.ToSlash(path)
	switch {
	case builtByRun.MatchString(slashed):
		return fromSource
	case path == "":
		return "offsetledger"
	}
	return shellWord(slashed)
}

// typed spells a command that is offered to be typed next: it calls the program as this process
// was called, and asks where this one asked.
func (a *app) typed(words ...string) string {
	line := append([]string{a.program}, words...)
	for _, where := range []struct{ flag, value string }{
		{"--api", a.apiURL}, {"--data-dir", a.dataDir}, {"--cluster", a.cluster},
	} {
		if where.value != "" {
			line = append(line, where.flag, shellWord(where.value))
		}
	}
	return strings.Join(line, " ")
}

// named is a command that an error from elsewhere offers: whoever made it does not know how this
// process was called.
var named = regexp.MustCompile(`\boffsetledger (serve|(?:restore|reset|snapshot) [a-z]+(?: [pr][0-9a-f]{5,})?)`)

// retyped spells the commands in such a text as they can be typed. One with flags was spelled by
// typed already.
func (a *app) retyped(text string) string {
	var out strings.Builder
	for {
		at := named.FindStringIndex(text)
		if at == nil {
			return out.String() + text
		}
		command, rest := text[at[0]:at[1]], text[at[1]:]
		out.WriteString(text[:at[0]])
		switch words := strings.Fields(command)[1:]; {
		case strings.HasPrefix(rest, " --"):
			out.WriteString(command)
		case words[0] == "serve":
			daemon := *a
			daemon.apiURL = "" // it is what listens there
			out.WriteString(daemon.typed(words...))
		default:
			out.WriteString(a.typed(words...))
		}
		text = rest
	}
}

// typedWrite spells a command that writes to Kafka as typed does, from where this one was told that
// Kafka is.
func (a *app) typedWrite(k config.Flags, words ...string) string {
	for _, where := range []struct{ flag, value string }{{"-B", k.BootstrapServers}, {"--command-config", k.CommandConfig}} {
		if where.value != "" {
			words = append(words, where.flag, shellWord(where.value))
		}
	}
	return a.typed(words...)
}

// typedExamples spells the examples in the help of a command, and of those below it, as they can
// be typed too. They stand on lines of their own, after two blanks.
func (a *app) typedExamples(cmd *cobra.Command) {
	typed := func(text string) string { return exampleLine.ReplaceAllLiteralString(text, "  "+a.program+" ") }
	cmd.Long, cmd.Example = typed(cmd.Long), typed(cmd.Example)
	for _, c := range cmd.Commands() {
		a.typedExamples(c)
	}
}

var exampleLine = regexp.MustCompile(`(?m)^  offsetledger `)

// typedDescribe offers to look at a group as it was right before the event with sequence seq.
func (a *app) typedDescribe(group api.Text, seq uint64) string {
	return a.typed("group", "describe", groupWord(group), "--at", "seq:"+strconv.FormatUint(seq-1, 10))
}

// groupWord spells a group as an argument.
func groupWord(t api.Text) string {
	word := shellWord(t.String())
	if strings.HasPrefix(t.String(), "-") {
		return "--group=" + word
	}
	return word
}

// shellWord spells a text so that a shell hands it on as one word.
func shellWord(s string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,-"
	if s != "" && strings.Trim(s, safe) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
