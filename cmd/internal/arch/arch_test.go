package arch_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/offsetledger/offsetledger/"

// rule says that the package From, a path in the module, never depends on anything whose import
// path starts with one of Never.
type rule struct {
	From  string
	Never []string
	Why   string
}

var (
	nats  = []string{"github.com/nats-io/"}
	kafka = []string{"github.com/twmb/franz-go"}
	ui    = []string{"github.com/spf13/"}
)

// The order of the house is ledger < {stream, embedded, projection} < {commands, commands/kafka,
// replay} < replay/objstore < cmd; commands/kafka may know commands, and nothing else of one step another of it.
var rules = []rule{
	{"ledger", slices.Concat(nats, kafka, ui, []string{"net/http"}, own("ledger/", "projection", "commands", "replay", "cmd")),
		"events are what every package speaks: their package is pure and imports none of them"},
	{"ledger/stream", slices.Concat(kafka, ui, []string{"github.com/nats-io/nats-server"}, own("projection", "commands", "replay", "cmd")),
		"the log stores events of any source and knows nothing of what they add up to, nor who runs the server"},
	{"ledger/embedded", slices.Concat(kafka, ui, own("ledger/stream", "projection", "commands", "replay", "cmd")),
		"the server in process is a server, not a ledger"},
	{"projection", slices.Concat(nats, kafka, ui, []string{"net/http"}, own("ledger/stream", "ledger/embedded", "commands", "replay", "cmd")),
		"the fold is pure, so that every replay agrees"},
	{"projection/natskv", slices.Concat(kafka, ui, []string{"github.com/nats-io/nats-server"}, own("ledger/stream", "ledger/embedded", "commands", "replay", "cmd")),
		"a bucket is a cache of what was folded and knows no ledger"},
	{"commands", slices.Concat(nats, kafka, ui, own("ledger/stream", "ledger/embedded", "projection/natskv", "replay", "cmd")),
		"the offset manager writes through the small interfaces that it declares, to any log and any Kafka client"},
	{"commands/kafka", slices.Concat(nats, ui, own("ledger/stream", "ledger/embedded", "replay", "cmd")),
		"capture appends through the small interface that it declares"},
	{"replay", slices.Concat(nats, kafka, ui, own("ledger/stream", "ledger/embedded", "commands", "cmd")),
		"time travel reads, and plans write, through the small interfaces that it declares"},
	{"replay/objstore", slices.Concat(kafka, ui, []string{"github.com/nats-io/nats-server"}, own("ledger/stream", "ledger/embedded", "commands", "cmd")),
		"a bucket of snapshots is a cache and knows no ledger"},
}

func own(paths ...string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = module + p
	}
	return out
}

type goPackage struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Deps       []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps=false", "-json=ImportPath,Dir,GoFiles,Deps", module+"...").Output()
	require.NoError(t, err)
	var pkgs []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := dec.Decode(&p)
		if err == io.EOF {
			return pkgs
		}
		require.NoError(t, err)
		pkgs = append(pkgs, p)
	}
}

func TestImportsFollowTheOrderOfTheHouse(t *testing.T) {
	pkgs := listPackages(t)
	for _, r := range rules {
		found := false
		for _, p := range pkgs {
			if p.ImportPath != module+r.From {
				continue
			}
			found = true
			for _, dep := range p.Deps {
				for _, never := range r.Never {
					if strings.HasPrefix(dep, never) {
						t.Errorf("%s depends on %s: %s", r.From, dep, r.Why)
					}
				}
			}
		}
		require.True(t, found, "no package %s: the rule speaks of nothing", r.From)
	}
}

// A user of the library builds no code of the binary.
func TestLibrariesDependOnNoCommandLine(t *testing.T) {
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(path, "cmd/") {
			continue
		}
		for _, dep := range p.Deps {
			if strings.HasPrefix(dep, "github.com/spf13/") || strings.HasPrefix(dep, module+"cmd/") {
				t.Errorf("%s depends on %s, which belongs to the binary", path, dep)
			}
		}
	}
}

func TestEveryPackageSaysWhatItHolds(t *testing.T) {
	for _, p := range listPackages(t) {
		comments := 0
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.PackageClauseOnly)
			require.NoError(t, err)
			if hasText(file.Doc) {
				comments++
			}
		}
		require.Equal(t, 1, comments, "%s has %d package comments", p.ImportPath, comments)
	}
}

func hasText(doc *ast.CommentGroup) bool { return doc != nil && strings.TrimSpace(doc.Text()) != "" }

// The core holds no goroutine and no clock: both are handed in by the edges.
func TestTheCoreStartsNothingAndAsksNoClock(t *testing.T) {
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if path != "ledger" && path != "projection" {
			continue
		}
		for _, name := range p.GoFiles {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s starts a goroutine", fset.Position(n.Pos()))
				case *ast.SelectorExpr:
					if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "After", "NewTimer", "NewTicker", "Sleep"}, n.Sel.Name) {
						t.Errorf("%s asks the clock: time.%s", fset.Position(n.Pos()), n.Sel.Name)
					}
				}
				return true
			})
		}
	}
}
