package arch_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The first example of the guide of the offset manager, and that of its binding to franz-go, is
// what people copy: it builds as it stands there.
func TestTheExamplesOfTheGuidesBuild(t *testing.T) {
	for page, around := range map[string][2]string{
		"manager.md":  {"func guide(ctx context.Context, opts []kgo.Opt, process func(*kgo.Record)) {\n", "\n_ = err\n}\n"},
		"franz-go.md": {"func guide(m *commands.Manager, opts []kgo.Opt, record *kgo.Record) {\n", "\n_, _ = client, err\n}\n"},
	} {
		t.Run(page, func(t *testing.T) {
			code := firstExample(t, filepath.Join("../../../docs", page))
			build(t, header(code+around[0])+around[0]+code+around[1])
		})
	}
}

// firstExample is the first block of Go in a page. What it leaves out there is left out here.
func firstExample(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, block, found := strings.Cut(string(text), "\n```go\n")
	require.True(t, found)
	block, _, found = strings.Cut(block, "\n```")
	require.True(t, found)
	return strings.ReplaceAll(block, "\n…\n", "\n")
}

// header is the package clause, and the imports of what code mentions.
func header(code string) string {
	var b strings.Builder
	b.WriteString("package guide\n\nimport (\n")
	for _, path := range []string{
		"context", "time", "github.com/nats-io/nats.go", "github.com/twmb/franz-go/pkg/kgo",
		"github.com/offsetledger/offsetledger/commands", "github.com/offsetledger/offsetledger/commands/kafka",
		"github.com/offsetledger/offsetledger/ledger/stream",
	} {
		if strings.Contains(code, strings.TrimSuffix(filepath.Base(path), ".go")+".") {
			b.WriteString("\t\"" + path + "\"\n")
		}
	}
	return b.String() + ")\n\n"
}

// build builds a file as a package of this module, which it is laid over.
func build(t *testing.T, source string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "guide.go")
	require.NoError(t, os.WriteFile(file, []byte(source), 0o600))
	here, err := filepath.Abs("guide/guide.go")
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {here: file}})
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, "./guide").CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, source)
}
