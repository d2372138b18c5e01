package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/config"
)

// A command that is offered can be typed as it stands: the program as it was called, and where
// it was told to ask.
func TestCommandsAreOfferedAsTheyMustBeTyped(t *testing.T) {
	for path, want := range map[string]string{
		"":                                      "offsetledger",
		"offsetledger":                          "offsetledger",
		"./offsetledger":                        "./offsetledger",
		"/opt/my tools/offsetledger":            "'/opt/my tools/offsetledger'",
		"/tmp/go-build12/b001/exe/offsetledger": fromSource,
		"/home/me/.cache/go-build/0f/" + strings.Repeat("0f", 32) + "-d/offsetledger": fromSource,
		"/cache/0f/" + strings.Repeat("0f", 32) + "-d/offsetledger":                   fromSource,
		"/src/go-builder/offsetledger":                                                "/src/go-builder/offsetledger",
	} {
		require.Equal(t, want, typedProgram(path), path)
	}
	var help strings.Builder
	fromClone := app{program: fromSource, stdout: &help, getenv: func(string) string { return "" }}
	require.Equal(t, exitDone, fromClone.execute(t.Context(), []string{"group", "list", "--help"}))
	require.Contains(t, help.String(), "\n  go run ./cmd/offsetledger group list --sort lag\n")
	require.Contains(t, help.String(), "\n  go run ./cmd/offsetledger group list [flags]\n")
	require.NotContains(t, help.String(), "  offsetledger ")

	a := app{program: "offsetledger"}
	require.Equal(t, "offsetledger incidents show i19", a.typed("incidents", "show", "i19"))
	a = app{program: fromSource, dataDir: "/data/it's mine", cluster: "prod"}
	require.Equal(t, `go run ./cmd/offsetledger group describe 'a b' --at seq:18 --data-dir '/data/it'\''s mine' --cluster prod`,
		a.typedDescribe("a b", 19))
	a = app{program: "ol", apiURL: "http://127.0.0.1:4"}
	require.Equal(t, "ol group describe --group=-x --at seq:0 --api http://127.0.0.1:4", a.typedDescribe("-x", 1))
	require.Equal(t, `ol group describe '"a\nb"' --at seq:0 --api http://127.0.0.1:4`, a.typedDescribe("a\nb", 1))
	a = app{program: "ol"}
	require.Equal(t, `ol restore undo r91c2d0 -B 'a:1, b:2' --command-config /etc/kafka.properties`,
		a.typedWrite(config.Flags{BootstrapServers: "a:1, b:2", CommandConfig: "/etc/kafka.properties"}, "restore", "undo", "r91c2d0"))
	require.Equal(t, "ol restore undo r91c2d0", a.typedWrite(config.Flags{}, "restore", "undo", "r91c2d0"))
}

// What an error from elsewhere offers to type is spelled as this process was called, and asks where
// this one asked.
func TestCommandsInErrorsAreRetyped(t *testing.T) {
	a := &app{program: fromSource, apiURL: "http://h:1", cluster: "prod"}
	for text, want := range map[string]string{
		"finish it first: offsetledger restore apply p7f3a1": "finish it first: go run ./cmd/offsetledger restore apply p7f3a1 --api http://h:1 --cluster prod",
		"offsetledger restore approve p7f3a1, within 24h":    "go run ./cmd/offsetledger restore approve p7f3a1 --api http://h:1 --cluster prod, within 24h",
		"offsetledger snapshot list shows those that can":    "go run ./cmd/offsetledger snapshot list --api http://h:1 --cluster prod shows those that can",
		"start one with offsetledger serve, or not":          "start one with go run ./cmd/offsetledger serve --cluster prod, or not",
		"the directory offsetledger is no ledger":            "the directory offsetledger is no ledger",
	} {
		require.Equal(t, want, a.retyped(text))
	}
}
