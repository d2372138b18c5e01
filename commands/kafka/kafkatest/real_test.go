package kafkatest_test

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

var _ cluster = (*kafkatest.Real)(nil)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kafkatest.Closing(m))
}

func TestContractOnKafka44(t *testing.T) {
	contract(t, kafkatest.Shared(t, kafkatest.Version44))
}

func TestContractOnKafka40(t *testing.T) {
	contract(t, kafkatest.Shared(t, kafkatest.Version40))
}

func TestABrokerThatCannotStartTellsWhy(t *testing.T) {
	_, err := kafkatest.StartReal(timeout(t), kafkatest.RealConfig{
		Dir: t.TempDir(), Properties: map[string]string{"log.cleaner.threads": "-1"},
	})
	if os.Getenv(kafkatest.EnvRequire) != "1" && err != nil {
		skipWithoutJava(t, err)
	}
	require.ErrorContains(t, err, "log.cleaner.threads")
}

func skipWithoutJava(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, kafkatest.ErrNoJava) {
		t.Skip(err)
	}
}
