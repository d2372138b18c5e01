package kafkatest

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// The versions of Apache Kafka that the tests know: the newest, whose offset values are of
// version 4, and one whose are of version 3.
const (
	Version44 = "4.4.0"
	Version40 = "4.0.2"
)

// ErrNoJava says that no real broker can be started here: there is no Java of version 17 or
// later, or no Maven to fetch the jars with.
var ErrNoJava = errors.New("no Java 17 and Maven for a real Kafka")

//go:embed testdata/kafka/pom.xml
var pom []byte

const classpathPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"

// classpath is the Java class path of a Kafka version. Maven puts the jars into its own local
// repository; the list of them is kept in the user's cache directory, since asking Maven takes
// two seconds even when it has everything.
func classpath(ctx context.Context, version string) (string, error) {
	if err := checkJava(ctx); err != nil {
		return "", err
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache directory: %w", err)
	}
	dir := filepath.Join(base, "offsetledger", "kafkatest", version)
	list := filepath.Join(dir, "classpath.txt")
	if cp, err := os.ReadFile(list); err == nil && allExist(string(cp)) {
		return string(cp), nil
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("%w: mvn is not on the PATH", ErrNoJava)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make cache directory: %w", err)
	}
	// Test binaries run side by side: each asks in a directory of its own, the rename is whole.
	work, err := os.MkdirTemp(dir, "ask-")
	if err != nil {
		return "", fmt.Errorf("make work directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := os.WriteFile(filepath.Join(work, "pom.xml"), bytes.ReplaceAll(pom, []byte("VERSION"), []byte(version)), 0o600); err != nil {
		return "", fmt.Errorf("write pom: %w", err)
	}
	fresh := filepath.Join(work, "classpath.txt")
	cmd := exec.CommandContext(ctx, mvn, "-B", "-q", "-f", filepath.Join(work, "pom.xml"), classpathPlugin,
		"-Dmdep.includeScope=runtime", "-Dmdep.outputFile="+fresh)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetch the jars of Kafka %s with Maven: %w: %s", version, err, tail(out))
	}
	cp, err := os.ReadFile(fresh)
	if err != nil {
		return "", fmt.Errorf("read class path: %w", err)
	}
	if err := os.Rename(fresh, list); err != nil {
		return "", fmt.Errorf("keep class path: %w", err)
	}
	return string(cp), nil
}

func allExist(cp string) bool {
	for jar := range strings.SplitSeq(cp, string(os.PathListSeparator)) {
		if _, err := os.Stat(jar); err != nil {
			return false
		}
	}
	return true
}

var javaVersion = regexp.MustCompile(`version "(\d+)`)

func checkJava(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "java", "-version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: java -version: %w", ErrNoJava, err)
	}
	found := javaVersion.FindSubmatch(out)
	if found == nil {
		return fmt.Errorf("%w: java -version says %q", ErrNoJava, tail(out))
	}
	if major, err := strconv.Atoi(string(found[1])); err != nil || major < 17 {
		return fmt.Errorf("%w: java is version %s", ErrNoJava, found[1])
	}
	return nil
}

// tail is the end of a program's output, as much as an error can carry.
func tail(out []byte) string {
	const most = 2000
	out = bytes.TrimSpace(out)
	if len(out) > most {
		out = append([]byte("… "), out[len(out)-most:]...)
	}
	return string(out)
}
