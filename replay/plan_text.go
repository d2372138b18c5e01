package replay

import (
	"strconv"
	"strings"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// PartitionsText names partitions in few words, as in "orders 0-2, refunds 4". They have to be
// sorted.
func PartitionsText(tps []ledger.TopicPartition) string {
	var b strings.Builder
	for i := 0; i < len(tps); {
		n := i + 1
		for n < len(tps) && tps[n].Topic == tps[i].Topic && tps[n].Partition == tps[n-1].Partition+1 {
			n++
		}
		switch {
		case i == 0:
			b.WriteString(ledger.Spell(tps[i].Topic) + " ")
		case tps[i].Topic == tps[i-1].Topic:
			b.WriteString(",")
		default:
			b.WriteString(", " + ledger.Spell(tps[i].Topic) + " ")
		}
		b.WriteString(strconv.Itoa(int(tps[i].Partition)))
		if n > i+1 {
			b.WriteString("-" + strconv.Itoa(int(tps[n-1].Partition)))
		}
		i = n
	}
	return b.String()
}

func millis(n int32) time.Duration { return time.Duration(n) * time.Millisecond }
