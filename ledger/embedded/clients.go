package embedded

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Client is who may connect over the listener, and what it may ask for.
//
// Permissions on subjects would not keep a client to that: a server answers to whatever subject
// a request names for its reply, and so writes there in the client's place, to the ledger too.
// Hence each client has an account of its own, in which nothing is stored and nobody else is,
// and the server takes across the requests that are listed here and nothing else.
type Client struct {
	// Name is that of its account and, with ".nk", of the file in the data directory that holds
	// its key: letters and digits.
	Name string
	// Requests are the subjects that it may send requests to, with the wildcards of NATS.
	// Consumers are created as pull consumers only: one that pushes would write to any subject.
	Requests []string
	// Appends are the subjects under which it may have messages stored, with `*` for one token.
	// Check looks at each message first, and what it refuses is not stored; nil takes all. It is
	// called by one goroutine.
	Appends []string
	Check   func(subject string, message []byte) error
}

// keySuffix is that of the file in the data directory that holds a client's nkey seed.
const keySuffix = ".nk"

// KeyFile is the file that holds the key of a client: what [nats.NkeyOptionFromSeed] takes. It
// is made by the first start with that client, for its owner only, and used by the later ones;
// removed, the next start makes another.
func KeyFile(dir, client string) string { return filepath.Join(dir, client+keySuffix) }

// gate lets the clients in. Connections from within the process need no key.
type gate struct {
	accounts map[string]*server.Account // by public key
	ready    chan struct{}              // closed when the accounts are there
}

// patience is how long a client that comes while the server is starting is kept waiting.
const patience = time.Second

// Check implements [server.Authentication].
func (g *gate) Check(c server.ClientAuthentication) bool {
	if c.RemoteAddress().Network() == "pipe" {
		c.RegisterUser(&server.User{Username: "offsetledger"})
		return true
	}
	select {
	case <-g.ready:
	case <-time.After(patience):
		return false
	}
	opts := c.GetOpts()
	account := g.accounts[opts.Nkey]
	if account == nil {
		return false
	}
	signature, err := base64.RawURLEncoding.DecodeString(opts.Sig)
	if err != nil {
		return false
	}
	key, err := nkeys.FromPublicKey(opts.Nkey)
	if err != nil || key.Verify(c.GetNonce(), signature) != nil {
		return false
	}
	c.RegisterUser(&server.User{Username: account.Name, Account: account})
	return true
}

// admit makes the accounts of the clients and opens the gate.
func (s *Server) admit(dir string, clients []Client) error {
	if len(clients) == 0 {
		return nil
	}
	if _, err := s.conn.Subscribe(createGuarded+">", s.createConsumer); err != nil {
		return err
	}
	if _, err := s.conn.Subscribe(acknowledged+">", s.acknowledge); err != nil {
		return err
	}
	ledger := s.nats.GlobalAccount()
	for _, c := range clients {
		key, err := clientKey(KeyFile(dir, c.Name))
		if err != nil {
			return err
		}
		account, err := s.nats.RegisterAccount(strings.ToUpper(c.Name))
		if err != nil {
			return err
		}
		for _, subject := range c.Requests {
			if err := take(ledger, account, subject); err != nil {
				return fmt.Errorf("requests of %s to %s: %w", c.Name, subject, err)
			}
		}
		if err := s.takeAppends(ledger, account, c); err != nil {
			return fmt.Errorf("appends of %s: %w", c.Name, err)
		}
		s.gate.accounts[key] = account
	}
	close(s.gate.ready)
	return nil
}

// The requests that are not taken across one to one.
const (
	createConsumer = "$JS.API.CONSUMER.CREATE."
	createGuarded  = "offsetledger.consumer.create." // where this package looks at them first
	pullMessages   = "$JS.API.CONSUMER.MSG.NEXT."    // answered many times
)

// take has requests of one account answered by the other. An export is there already if another
// client may send the same.
func take(to, from *server.Account, subject string) error {
	inside, answers := subject, server.Singleton
	if rest, ok := strings.CutPrefix(subject, createConsumer); ok {
		inside = createGuarded + rest
	}
	if strings.HasPrefix(subject, pullMessages) {
		answers = server.Streamed
	}
	if err := to.AddServiceExportWithResponse(inside, answers, nil); err != nil {
		return err
	}
	return from.AddServiceImport(to, subject, inside)
}

// createTime bounds how long the making of a consumer may take.
const createTime = 5 * time.Second

// createConsumer passes on a request for a consumer that delivers to whoever asks it.
func (s *Server) createConsumer(m *nats.Msg) {
	var request struct {
		Config struct {
			DeliverSubject string `json:"deliver_subject"`
		} `json:"config"`
	}
	if err := json.Unmarshal(m.Data, &request); err != nil || request.Config.DeliverSubject != "" {
		s.respond(m, []byte(`{"type":"io.nats.jetstream.api.v1.consumer_create_response",`+
			`"error":{"code":403,"description":"clients of this server make pull consumers only"}}`))
		return
	}
	answer, err := s.conn.Request(createConsumer+strings.TrimPrefix(m.Subject, createGuarded), m.Data, createTime)
	if err != nil {
		s.log.Warn("a client's consumer could not be made", "err", err)
		return
	}
	s.respond(m, answer.Data)
}

func (s *Server) respond(m *nats.Msg, answer []byte) {
	if err := m.Respond(answer); err != nil {
		s.log.Warn("a client could not be answered", "err", err)
	}
}

// clientKey reads a client's key, or makes it, and returns its public half. A crash leaves the
// whole key or a temporary file that is not looked at.
func clientKey(path string) (public string, err error) {
	seed, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if seed, err = newKey(); err == nil {
			err = writeWhole(path, append(seed, '\n'))
		}
	}
	if err != nil {
		return "", err
	}
	key, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(seed))))
	if err == nil {
		public, err = key.PublicKey()
	}
	if err == nil && !nkeys.IsValidPublicUserKey(public) {
		err = errors.New("it is not that of a user")
	}
	if err != nil {
		return "", fmt.Errorf("key in %s: %w: remove the file to have another made", path, err)
	}
	return public, nil
}

func newKey() ([]byte, error) {
	key, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	return key.Seed()
}
