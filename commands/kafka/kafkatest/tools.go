package kafkatest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// The stock command line tools, by the class that their scripts run. Each takes a second or
// more, most of it the start of Java.
const (
	TopicCommand         = "org.apache.kafka.tools.TopicCommand"
	AclCommand           = "org.apache.kafka.tools.AclCommand"
	ConsoleProducer      = "org.apache.kafka.tools.ConsoleProducer"
	ConsoleConsumer      = "org.apache.kafka.tools.consumer.ConsoleConsumer"
	ConsoleShareConsumer = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
	ConsumerGroupCommand = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
)

// Tool runs one of Kafka's command line tools and returns what it printed on stdout and
// stderr. It adds no arguments: most tools want --bootstrap-server. The end of ctx kills it.
func (r *Real) Tool(ctx context.Context, class string, args ...string) (string, error) {
	return r.ToolInput(ctx, strings.NewReader(""), class, args...)
}

// ToolInput is Tool with something on stdin.
func (r *Real) ToolInput(ctx context.Context, stdin io.Reader, class string, args ...string) (string, error) {
	java := []string{
		"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", r.cp, class,
	}
	cmd := exec.CommandContext(ctx, "java", append(java, args...)...)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &out
	if err := cmd.Run(); err != nil {
		name := class[strings.LastIndexByte(class, '.')+1:]
		return out.String(), fmt.Errorf("run %s: %w: %s", name, err, tail(out.Bytes()))
	}
	return out.String(), nil
}
