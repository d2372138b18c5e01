package arch_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../../.."

func design(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "design.md"))
	require.NoError(t, err)
	return string(text)
}

func TestTheDesignNamesEveryPackage(t *testing.T) {
	text := design(t)
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if !strings.Contains(text, "| `"+path+"` |") {
			t.Errorf("docs/design.md has no row for %s in its table of the house", path)
		}
	}
}

// Who walks the house by the page has to find the files that it names.
func TestTheDesignNamesNoFileThatIsGone(t *testing.T) {
	files := map[string]bool{} // by path and by name
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			rel, fault := filepath.Rel(root, path)
			files[filepath.ToSlash(rel)], files[d.Name()], err = true, true, fault
		}
		return err
	}))
	named := regexp.MustCompile("`([a-z_/]+\\.go)`").FindAllStringSubmatch(design(t), -1)
	require.Greater(t, len(named), 40)
	for _, n := range named {
		if !files[n[1]] {
			t.Errorf("docs/design.md names %s, which is not there", n[1])
		}
	}
}
