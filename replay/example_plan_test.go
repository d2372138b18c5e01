package replay_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// kafka is a Kafka with a group billing, which nobody is in, and a topic t of one partition. Of a
// real one the administrator of package commands/kafka asks and writes the same.
type kafka struct{ committed int64 }

func (k *kafka) Facts(context.Context, replay.Inquiry) (replay.Facts, error) {
	return replay.Facts{
		At:     ledger.AtTime(time.Now()),
		Groups: []replay.GroupFacts{{Name: "billing", Exists: true, State: "Empty", Rows: []ledger.Offset{{Topic: "t", At: k.committed}}}},
		Topics: []replay.TopicFacts{{Name: "t", Exists: true, Partitions: []replay.PartitionFacts{{Log: &replay.Bounds{End: 1300, LastStable: 1300}}}}},
	}, nil
}

func (k *kafka) Commit(_ context.Context, _ string, rows []ledger.Offset) ([]ledger.Offset, error) {
	k.committed = rows[0].At
	return rows, nil
}

func (k *kafka) Delete(context.Context, string, []ledger.TopicPartition) ([]ledger.Offset, error) {
	return nil, fmt.Errorf("nothing is to be deleted here")
}

// A group was at 1215 and is at 0: plan to put it back, look at the plan, and carry it out.
func ExamplePlanRestore() {
	ctx := context.Background()
	dir, _ := os.MkdirTemp("", "ledger")
	defer os.RemoveAll(dir)
	srv, err := embedded.Start(ctx, embedded.Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	log, _ := stream.Create(ctx, srv.Conn(), stream.Config{})
	const evening = 1796047200_000
	_, _ = log.Append(ctx, []ledger.Event{commit("billing", evening, row(0, 1215, 0, evening)), commit("billing", evening+60_000, row(0, 0, 1, evening+60_000))})
	broker := &kafka{}

	// What the ledger knows: now, and as of the point to go back to, which is before record 2.
	before := replay.Point{Seq: 1}
	now, _ := replay.StateAt(ctx, log, replay.Point{}, replay.OfCluster("c"))
	then, _ := replay.StateAt(ctx, log, before, replay.OfGroup("c", "billing"))
	wish := replay.Wish{
		Command: replay.CommandRestore, Cluster: "c", Groups: []string{"billing"}, Now: ledger.AtTime(time.Now()),
		Target: replay.Target{Kind: replay.TargetPoint, Point: before, Text: before.String()},
	}
	material := replay.Material{Now: now, Then: then, Asked: projection.Asked{Now: wish.Now}}

	// What Kafka says now. Which of it a plan needs, its Draft knows.
	draft, err := replay.NewDraft(wish, material)
	if err != nil {
		fmt.Println(err)
		return
	}
	facts, _ := broker.Facts(ctx, draft.Inquiry())
	facts.Learn(now, "c")
	plan, err := replay.PlanRestore(wish, material, facts)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range plan.Groups[0].Steps {
		fmt.Println(s.Topic, s.Partition, s.Action, s.Current.At, "to", s.Target.At)
	}
	by := replay.By{Actor: "kim", Reason: "the deploy of that evening"}
	stored, _ := plan.Event(by)
	_, _ = log.Append(ctx, []ledger.Event{stored})

	done, err := replay.Apply(ctx, log, broker, replay.Order{Plan: plan, By: by})
	if err != nil {
		fmt.Println(err)
		return
	}
	written, _, _ := done.Sums()
	fmt.Println(written, "written, and Kafka has", broker.committed)
	// Output:
	// t 0 set 0 to 1215
	// 1 written, and Kafka has 1215
}
