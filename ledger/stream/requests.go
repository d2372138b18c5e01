package stream

import (
	"fmt"

	"github.com/offsetledger/offsetledger/ledger"
)

// ReadRequests are the subjects that a [Log] sends requests to for all that reads the stream of
// that name, empty for [DefaultName]: what a NATS user that may only read needs to be allowed,
// with its inbox to subscribe to.
//
// Allowing them is not enough to keep a user from writing: a server answers to whatever subject
// a request names for its reply, a subject of the ledger too. A user that must not write needs
// an account of its own, into which these subjects are imported as services.
func ReadRequests(name string) []string {
	name = Config{Name: name}.withDefaults().Name
	return []string{
		"$JS.API.STREAM.INFO." + name,
		"$JS.API.STREAM.MSG.GET." + name,
		"$JS.API.DIRECT.GET." + name,
		"$JS.API.CONSUMER.CREATE." + name + ".>",
		"$JS.API.CONSUMER.DELETE." + name + ".*",
		"$JS.API.CONSUMER.MSG.NEXT." + name + ".*", // answered many times
	}
}

// GroupAppends are the subjects that events about groups are appended under, of all clusters:
// what an offset manager sends beside [ReadRequests].
func GroupAppends() []string { return []string{"ol.*.g.*.*"} }

// CheckMessage says what is wrong with a message that is to be stored under a subject of the
// ledger, nil if nothing is: it has to be an event that is valid, and that belongs there: a
// ledger that holds another cannot be read past it. And it must not be one of capture, whose
// positions decide what becomes of all that capture tells after it.
func CheckMessage(subject string, message []byte) error {
	e, err := ledger.Decode(message)
	if err != nil {
		return err
	}
	if e.Parts == 0 { // a part may lack what the whole has
		if err := e.Validate(); err != nil {
			return err
		}
	}
	if own := e.Subject(); own != subject {
		return fmt.Errorf("%w: an event of %s under %s", ledger.ErrInvalid, own, subject)
	}
	switch e.Source.Kind {
	case ledger.SourceTail, ledger.SourcePoll, ledger.SourceReconcile:
		return fmt.Errorf("%w: an event of source %s: what was seen in Kafka only capture tells", ledger.ErrInvalid, e.Source.Kind)
	}
	return nil
}
